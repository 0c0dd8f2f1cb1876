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

test('the funding of a closing order waits, and is published if the order is not closed after all', async () => {
  const order = fixture.place('one')
  let readCount = 0
  const closing: MarketClient = {
    ...fixture.market,
    submitOutpoint: async (orderId, attestation) => {
      await fixture.market.submitOutpoint(orderId, attestation)
      order.closing = 'The operator closes it.'
    },
    findOrder: (id) => (readCount++, fixture.market.findOrder(id)),
  }
  const { journal } = fixture.start({ market: closing })
  await waitUntil('the order was read more than once', () => readCount > 2)
  expect(journal.sales.get('one')?.opening.state).toBe('named')
  expect(fixture.simnet.control.channels('ada')).toEqual([])
  order.closing = undefined
  await fixture.waitUntilSold(order)
  expect(fixture.openings).toHaveLength(1)
})

test('a published funding is neither published again nor gets a higher fee while its order is closing', async () => {
  fixture.simnet.control.feeFloor(3)
  const order = fixture.place('one')
  let [sent, readCount] = [0, 0]
  const { channels } = fixture.seller
  const counting: Lightning = {
    ...fixture.seller,
    channels: { ...channels, publish: (one) => (sent++, channels.publish(one)) },
  }
  const market: MarketClient = { ...fixture.market, findOrder: (id) => (readCount++, fixture.market.findOrder(id)) }
  const { journal } = fixture.start({ lightning: counting, market })
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  order.closing = 'The operator closes it.'
  // One check of the sale may have begun before the order was closing. It has ended when the next check begins.
  const seen = readCount
  await waitUntil('the order was read', () => readCount > seen + 1)
  const before = sent
  fixture.simnet.control.mine(5)
  await waitUntil('the order was read again', () => readCount > seen + 4)
  expect(sent).toBe(before)
  expect(journal.sales.get('one')?.opening).toMatchObject({ state: 'published', feeRate: 2 })
  Object.assign(order, { status: 'ADMIN_CLOSED', closing: undefined })
  await waitUntil('the sale is over', () => journal.sales.size === 0)
})
