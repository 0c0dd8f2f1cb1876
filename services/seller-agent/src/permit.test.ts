import type { Lightning } from '@penstock/ports/lightning.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MarketClient } from './market-client.ts'
import { openAgentFixture, type AgentFixture } from './agent.fixture.ts'

let fixture: AgentFixture
beforeEach(async () => {
  fixture = await openAgentFixture()
})
afterEach(() => fixture.close())

/** A market whose answer to a submitted outpoint arrives `blocks` blocks late. */
const delaySubmission = (blocks: number): MarketClient => ({
  ...fixture.market,
  submitOutpoint: async (orderId, attestation) => {
    const publishUntil = await fixture.market.submitOutpoint(orderId, attestation)
    fixture.simnet.control.mine(blocks)
    return publishUntil
  },
})

test('a funding is published at the last height of its permit', async () => {
  const order = fixture.place('one')
  order.publishUntil = (await fixture.seller.info()).height + 2
  fixture.start({ market: delaySubmission(2) })
  await fixture.waitUntilSold(order)
})

test('a funding is abandoned above the last height, even if the permit itself arrived late', async () => {
  const order = fixture.place('one')
  order.publishUntil = (await fixture.seller.info()).height + 2
  const { journal, end } = fixture.start({ market: delaySubmission(3) })
  await waitUntil('it is submitted', () => order.submissions.length === 1)
  const sale = () => journal.sales.get('one')
  await waitUntil('it is abandoned or published', () => (sale()?.setbacks ?? 0) > 0 || sale()?.opening.state === 'published')
  expect(sale()?.setbacks).toBeGreaterThan(0)
  await end()
  expect(fixture.simnet.control.channels('ada')).toEqual([])
  expect(order.submissions).toHaveLength(1)
  expect(await fixture.countUnpublishedFundings()).toBe(0)
})

test('a funding that may be published is not published again above the last height, unless the market has seen it', async () => {
  const order = fixture.place('one')
  order.publishUntil = (await fixture.seller.info()).height + 2
  const { channels } = fixture.seller
  let isAway = true
  let sent = 0
  const lightning: Lightning = {
    ...fixture.seller,
    channels: {
      ...channels,
      publish: async (one) => {
        sent++
        if (!isAway) return channels.publish(one)
        fixture.simnet.control.mine(3)
        isAway = false
        throw new Error('the outcome is unknown')
      },
    },
  }
  let readCount = 0
  const market: MarketClient = { ...fixture.market, findOrder: (id) => (readCount++, fixture.market.findOrder(id)) }
  const { journal } = fixture.start({ lightning, market })
  await waitUntil('the order was read again', () => readCount > 2)
  expect([sent, journal.sales.get('one')?.opening.state]).toEqual([1, 'publishing'])
  order.status = 'WAITING_FOR_ON_CHAIN_CONFIRMATION'
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
})

test('the last height is read from the order if the answer to the submission did not contain it', async () => {
  const order = fixture.place('one')
  order.publishUntil = (await fixture.seller.info()).height
  const market: MarketClient = {
    ...delaySubmission(1),
    submitOutpoint: async (orderId, attestation) => {
      await delaySubmission(1).submitOutpoint(orderId, attestation)
      return undefined
    },
  }
  const { journal } = fixture.start({ market })
  await waitUntil('it is abandoned', () => (journal.sales.get('one')?.setbacks ?? 0) > 0)
  expect(fixture.simnet.control.channels('ada')).toEqual([])
})
