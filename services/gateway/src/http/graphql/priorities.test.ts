import { hasLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, openGatewayHarness } from '../../gateway-harness.fixture.ts'

const ACCOUNT = '20000000-0000-4000-8000-000000000001'

let market: GatewayHarness
beforeEach(async () => void (market = await openGatewayHarness()))
afterEach(() => market.close())

/** The priorities of the statements that a field of an account's orders needs. */
async function listPriorities(field: string): Promise<readonly boolean[]> {
  const key = await market.apiKey(ACCOUNT)
  const { views } = market.gateway
  const priorities = new Set<boolean>()
  const db = views.db.withPlugin({
    transformQuery({ node }) {
      priorities.add(hasLowPriority())
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  Object.assign(market.gateway, { views: { ...views, db } })
  const { errors } = await market.gql(`{ user { market { orders { ${field} } } } }`, {}, key)
  assert.equal(errors, undefined)
  return [...priorities]
}

test('a buyer that asks yields at the database', async () => {
  assert.deepEqual(await listPriorities('purchases { total }'), [true])
})

test('a seller that asks for its sales does not yield, from its authentication on', async () => {
  assert.deepEqual(await listPriorities('sales { total }'), [false])
})

test('a question beside the sales of a seller yields', async () => {
  assert.deepEqual(new Set(await listPriorities('sales { total } purchases { total }')), new Set([false, true]))
})
