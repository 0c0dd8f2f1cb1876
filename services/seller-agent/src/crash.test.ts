import { Fault } from '@penstock/kernel/result.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Journal } from './journal.ts'
import type { MarketClient } from './market-client.ts'
import { openAgentFixture, SIZE_SAT, type AgentFixture } from './agent.fixture.ts'

let fixture: AgentFixture
beforeEach(async () => {
  fixture = await openAgentFixture()
})
afterEach(() => fixture.close())

/** Ports of an agent that crashes at the call with number `crashCall`, before or after the call was carried out. */
function crashAtCall(crashCall: number, when: 'before' | 'after', onCrash: () => void) {
  let calls = 0
  let isCrashed = false
  const countCall = (): boolean => {
    if (isCrashed) throw new Fault('dead')
    isCrashed = ++calls === crashCall
    if (isCrashed) onCrash()
    return isCrashed
  }
  const wrap =
    <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const isCrash = countCall()
      if (isCrash && when === 'before') throw new Fault('dead')
      const result = await call(...args)
      if (isCrash) throw new Fault('dead')
      return result
    }
  const { payments, channels } = fixture.seller
  const lightning: Lightning = {
    ...fixture.seller,
    payments: { ...payments, createInvoice: wrap((request) => payments.createInvoice(request)) },
    channels: {
      ...channels,
      prepare: wrap((request) => channels.prepare(request)),
      publish: wrap((funding) => channels.publish(funding)),
      abandon: wrap((funding) => channels.abandon(funding)),
    },
  }
  const market: MarketClient = {
    ...fixture.market,
    accept: wrap((id, request) => fixture.market.accept(id, request)),
    submitOutpoint: wrap((id, attestation) => fixture.market.submitOutpoint(id, attestation)),
    findOrder: wrap((id) => fixture.market.findOrder(id)),
  }
  const journal = (one: Journal): Journal => ({
    ...one,
    sales: one.sales,
    record: (orderId, at, step) => {
      const isCrash = countCall()
      if (isCrash && when === 'before') throw new Fault('dead')
      const sale = one.record(orderId, at, step)
      if (isCrash) throw new Fault('dead')
      return sale
    },
  })
  return { lightning, market, journal }
}

/** Sells one channel by two agents, one after the other. @returns false if the first agent opened it without a crash */
async function sellAcrossRestart(crashCall: number, when: 'before' | 'after'): Promise<boolean> {
  const order = fixture.place('one')
  let isCrashed = false
  const first = fixture.start(crashAtCall(crashCall, when, () => (isCrashed = true)))
  const isPublished = () => fixture.simnet.control.channels('ada').length > 0
  await waitUntil('it crashed or opened', () => isCrashed || isPublished())
  await first.end()
  const second = fixture.start()
  await fixture.waitUntilSold(order)
  await second.end()
  expect(order.submissions).toHaveLength(1)
  expect(fixture.simnet.control.channels('buyer')).toHaveLength(1)
  // At most one prepared funding was lost in the crash. The second agent abandoned it before it prepared another.
  expect(fixture.openings.length).toBeLessThanOrEqual(2)
  expect(await fixture.countUnpublishedFundings()).toBe(0)
  return isCrashed
}

test.each(['before', 'after'] as const)(
  'an agent that crashes %s any call and is restarted opens one channel and leaves no coin locked',
  async (when) => {
    let crashCall = 1
    while (await sellAcrossRestart(crashCall, when)) {
      crashCall++
      await fixture.close()
      fixture = await openAgentFixture()
    }
    // The agent crashed once at each of its calls: for the invoice, the opening, the outpoint and the publication.
    expect(crashCall).toBeGreaterThan(11)
  },
)

test('a channel that the owner opens manually, with the same size and peer, is not abandoned', async () => {
  const order = fixture.place('one')
  const { channels } = fixture.seller
  let isPreparing = false
  const prepare = async (): Promise<never> => {
    isPreparing = true
    throw new Fault('dead')
  }
  const first = fixture.start({ lightning: { ...fixture.seller, channels: { ...channels, prepare } } })
  await waitUntil('it was opening', () => isPreparing)
  await first.end()
  await fixture.seller.peers.connect(fixture.buyerKey, fixture.buyerSocket)
  const own = await channels.prepare({ peer: fixture.buyerKey, capacitySat: SIZE_SAT, isPrivate: false, feeRateSatPerVbyte: 2 })
  const list = async () =>
    (await channels.list()).map((one) => ({ ...one, isPrepared: one.isPrepared && one.outpoint !== own.outpoint }))
  const second = fixture.start({ lightning: { ...fixture.seller, channels: { ...channels, list } } })
  await fixture.waitUntilSold(order)
  await second.end()
  expect(order.submissions).toHaveLength(1)
  expect(await channels.list()).toContainEqual(expect.objectContaining({ outpoint: own.outpoint, state: 'pending' }))
})
