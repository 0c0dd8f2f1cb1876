import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import { hasLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, NOW, openGatewayHarness } from '../../gateway-harness.fixture.ts'
import { createOrderPlacedFact } from '../../market/fake-market.fixture.ts'
import { BUYER, ORDER, SELLER } from '../../market/use-cases/selling.fixture.ts'

let market: GatewayHarness
beforeEach(async () => void (market = await openGatewayHarness()))
afterEach(() => market.close())

/** The priorities of the statements that a field of an account's orders needs. The caller is a seller with an API key. */
async function listPriorities(field: string, credential?: string): Promise<readonly boolean[]> {
  const key = credential ?? (await market.apiKey(SELLER))
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

const GET = `get_order(order_id: "${ORDER}") { id is_seller timeline { fact } }`

test('a seller that asks for the state of its sale does not yield, from its authentication on', async () => {
  await market.projectFacts('order', ORDER, [createOrderPlacedFact()])
  assert.deepEqual(await listPriorities(GET), [false])
  assert.deepEqual(new Set(await listPriorities(`${GET} purchases { total }`)), new Set([false, true]))
})

test('a buyer that asks for its order yields: with the key of the order or a session, and with a dashboard token', async () => {
  const { ids, pepper } = market.gateway
  const [orderKey, session, token] = [newCredential('pok_', ids), newCredential('psk_', ids), newCredential('pdt_', ids)]
  const hash = (key: string) => hashCredential(pepper, key)
  await market.projectFacts('order', ORDER, [
    createOrderPlacedFact({ buyer: { accountId: BUYER, key: { kind: 'order', hash: hash(orderKey) } } }),
  ])
  await market.projectFacts('account', BUYER, [
    { type: 'SessionOpened', data: { keyHash: hash(session), orderId: null } },
    { type: 'LoginRecorded', data: { tokenHash: hash(token), expiresAt: NOW + 60_000 } },
  ])
  for (const credential of [orderKey, session, token]) assert.deepEqual(await listPriorities(GET, credential), [true])
})
