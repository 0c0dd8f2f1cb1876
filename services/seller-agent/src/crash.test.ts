import { Fault } from '@penstock/kernel/result.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Journal } from './journal.ts'
import type { Market } from './market.ts'
import { openStage, SIZE, type Stage } from './stage.contract.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

/** Calls of one life of the agent; call number `last` is its last one, and dies before or after it was carried out. */
function mortal(last: number, when: 'before' | 'after', die: () => void) {
  let calls = 0
  let dead = false
  const now = (): boolean => {
    if (dead) throw new Fault('dead')
    dead = ++calls === last
    if (dead) die()
    return dead
  }
  const wrap =
    <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const dies = now()
      if (dies && when === 'before') throw new Fault('dead')
      const result = await call(...args)
      if (dies) throw new Fault('dead')
      return result
    }
  const { payments, channels } = stage.seller
  const lightning: Lightning = {
    ...stage.seller,
    payments: { ...payments, createInvoice: wrap((request) => payments.createInvoice(request)) },
    channels: {
      ...channels,
      prepare: wrap((request) => channels.prepare(request)),
      publish: wrap((funding) => channels.publish(funding)),
      abandon: wrap((funding) => channels.abandon(funding)),
    },
  }
  const market: Market = {
    ...stage.market,
    accept: wrap((id, request) => stage.market.accept(id, request)),
    nameFunding: wrap((id, attestation) => stage.market.nameFunding(id, attestation)),
    standing: wrap((id) => stage.market.standing(id)),
  }
  const journal = (one: Journal): Journal => ({
    ...one,
    sales: one.sales,
    record: (orderId, at, step) => {
      const dies = now()
      if (dies && when === 'before') throw new Fault('dead')
      const sale = one.record(orderId, at, step)
      if (dies) throw new Fault('dead')
      return sale
    },
  })
  return { lightning, market, journal }
}

/** One sale in two lives. @returns whether the first one died, or sold the channel before its last call */
async function sellInTwoLives(last: number, when: 'before' | 'after'): Promise<boolean> {
  const order = stage.place('one')
  let dead = false
  const first = stage.start(mortal(last, when, () => (dead = true)))
  const isPublished = () => stage.simnet.control.channels('ada').length > 0
  await until('it died or opened', () => dead || isPublished())
  await first.end()
  const second = stage.start()
  await stage.complete(order)
  await second.end()
  expect(order.named).toHaveLength(1)
  expect(stage.simnet.control.channels('buyer')).toHaveLength(1)
  // At most one opening was lost with its handle, and that one was given up before the next began.
  expect(stage.openings.length).toBeLessThanOrEqual(2)
  expect(await stage.leftovers()).toBe(0)
  return dead
}

test.each(['before', 'after'] as const)(
  'stopped %s any call and started again: one channel, and no coin is left behind',
  async (when) => {
    let last = 1
    while (await sellInTwoLives(last, when)) {
      last++
      await stage.close()
      stage = await openStage()
    }
    // Made, taken down and told: the invoice, the opening, the outpoint, the publication. Each call has been the last.
    expect(last).toBeGreaterThan(11)
  },
)

test('a channel that the owner of the node opens himself, of the same size and to the same node, is not given up', async () => {
  const order = stage.place('one')
  const { channels } = stage.seller
  let asked = false
  const prepare = async (): Promise<never> => {
    asked = true
    throw new Fault('dead')
  }
  const first = stage.start({ lightning: { ...stage.seller, channels: { ...channels, prepare } } })
  await until('it was opening', () => asked)
  await first.end()
  await stage.seller.peers.connect(stage.buyerKey, stage.buyerSocket)
  const own = await channels.prepare({ peer: stage.buyerKey, capacitySat: SIZE, isPrivate: false, feeRateSatPerVbyte: 2 })
  const list = async () =>
    (await channels.list()).map((one) => ({ ...one, isPrepared: one.isPrepared && one.outpoint !== own.outpoint }))
  const second = stage.start({ lightning: { ...stage.seller, channels: { ...channels, list } } })
  await stage.complete(order)
  await second.end()
  expect(order.named).toHaveLength(1)
  expect(await channels.list()).toContainEqual(expect.objectContaining({ outpoint: own.outpoint, state: 'pending' }))
})
