import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { createQuoteRequest } from '@penstock/testkit/quote-request.ts'
import { hasLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import assert from 'node:assert/strict'
import { afterEach, test } from 'vitest'
import {
  autoAcceptedFact,
  BUYER_URI,
  fakeHoldIssuedFact,
  createOrderPlacedFact,
  answerWithOrders,
} from '../fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'
import { withMarketTables } from '../views/tables.ts'
import { placeOrder } from './place-order.ts'
import { releaseQuota, pruneQuota, claimQuota } from './order-quota.ts'

let market: GatewayHarness
afterEach(() => market.close())

const id = (n: number) => `30000000-0000-4000-8000-${`${n}`.padStart(12, '0')}`
const openWithLimits = (env: Record<string, string>) =>
  openGatewayHarness({ env: { PENSTOCK_ORDERS_PER_DESTINATION: '0', PENSTOCK_ORDERS_PER_IP: '0', ...env } })
const claim = (n: number, ip = '192.0.2.1', destination = 'node') =>
  claimQuota(market.gateway, { orderId: id(n), ip, destination })

test('of twenty concurrent claims exactly five succeed if the limit is five', async () => {
  market = await openWithLimits({ PENSTOCK_ORDERS_PER_IP: '5' })
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => claim(n)))
  assert.equal(outcomes.filter((refusal) => refusal === undefined).length, 5)
  assert.match(outcomes.find((refusal) => refusal !== undefined) ?? '', /5 unpaid or unfinished orders from your address/)
  assert.equal(await claim(99, '192.0.2.2'), undefined)
})

test('a purchase yields to other work while it waits for its place', async () => {
  market = await openWithLimits({})
  market.respondWith(answerWithOrders(market))
  const priorities: boolean[] = []
  const { views } = market.gateway
  const db = views.db.withPlugin({
    transformQuery({ node }) {
      if (JSON.stringify(node).includes('gateway_slot_locks')) priorities.push(hasLowPriority())
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  Object.assign(market.gateway, { views: { ...views, db } })
  const answer = await market.gql(
    `mutation { liquidity { buy(input: { connection_uri: "${BUYER_URI}", usd_cents: "500" }) { order { transaction_id } } } }`,
  )
  assert.equal(answer.errors, undefined)
  assert.deepEqual(new Set(priorities), new Set([true]))
})

test('the limit of a destination counts the orders of every caller, and an ended order frees its slot', async () => {
  market = await openWithLimits({ PENSTOCK_ORDERS_PER_DESTINATION: '2' })
  const { pubkey } = createOrderTerms().destination
  for (const n of [1, 2]) {
    assert.equal(await claim(n, `192.0.2.${n}`, pubkey), undefined)
    await market.projectFacts('order', id(n), [createOrderPlacedFact(), fakeHoldIssuedFact])
  }
  assert.match((await claim(3, '192.0.2.3', pubkey)) ?? '', /for this node/)
  assert.equal(await claim(3, '192.0.2.3', 'another'), undefined)
  await market.projectFacts('order', id(1), [{ type: 'BuyerFailedToPay', data: { reason: 'expired' } }])
  assert.equal(await claim(4, '192.0.2.3', pubkey), undefined)
})

const OWNER = '40000000-0000-4000-8000-000000000004'
const { pubkey: OWN_NODE } = createOrderTerms().destination
const attemptStarted = { type: 'AttemptStarted', data: { attempt: 1, candidate: createOrderTerms().candidate } }

/** Opens a market where the orders of two strangers for a node reach the limit. The node's owner orders next. */
async function openWithStrangersOrders(facts: Parameters<GatewayHarness['projectFacts']>[2] = []) {
  market = await openWithLimits({ PENSTOCK_ORDERS_PER_DESTINATION: '2' })
  await market.projectFacts('account', OWNER, [{ type: 'NodeConnected', data: { pubkey: OWN_NODE } }])
  for (const n of [1, 2]) {
    assert.equal(await claim(n, `192.0.2.${n}`, OWN_NODE), undefined)
    await market.projectFacts(
      'order',
      id(n),
      [createOrderPlacedFact(), autoAcceptedFact, fakeHoldIssuedFact, ...facts],
      undefined,
      n,
    )
  }
  const answerQuote = answerWithOrders(market)
  market.respondWith(async (ask, options) => {
    await answerQuote(ask, options)
    if (ask.command.type !== 'Withdraw') return
    await market.projectFacts('order', ask.id, [{ type: 'BuyerRejected', data: { reason: 'It was withdrawn.' } }])
  })
  const placeFor = (n: number, accountId = OWNER) =>
    placeOrder(market.gateway, {
      orderId: id(n),
      ip: '192.0.2.9',
      prepare: async () => createQuoteRequest(accountId, { pubkey: OWN_NODE, sockets: [] }),
      isReady: ({ order }) => order.invoice !== null,
    })
  const listWithdrawn = () => market.sent.flatMap(({ ask }) => (ask.command.type === 'Withdraw' ? [ask.id] : []))
  return { orders: placeFor, withdrawn: listWithdrawn }
}

test("an order of the node's owner over the limit withdraws the oldest unpaid order of a stranger", async () => {
  const { orders: placeFor, withdrawn: listWithdrawn } = await openWithStrangersOrders()
  const refused = { outcome: 'refused', code: 'TOO_MANY_ORDERS' }
  assert.partialDeepStrictEqual(await placeFor(3, id(99)), refused)
  assert.deepEqual([(await placeFor(4)).outcome, listWithdrawn()], ['ready', [id(1)]])
  assert.partialDeepStrictEqual(await placeFor(5, id(99)), refused)
  assert.deepEqual([(await placeFor(6)).outcome, listWithdrawn()], ['ready', [id(1), id(2)]])
  // The owner's own orders count as usual.
  assert.partialDeepStrictEqual(await placeFor(7), refused)
  assert.deepEqual(listWithdrawn(), [id(1), id(2)])
})

test("strangers' paid orders for a node count against the limit of its owner too", async () => {
  const { orders: placeFor, withdrawn: listWithdrawn } = await openWithStrangersOrders([attemptStarted])
  assert.partialDeepStrictEqual(await placeFor(3), { outcome: 'refused', code: 'TOO_MANY_ORDERS' })
  assert.deepEqual(listWithdrawn(), [])
})

test('a requested order counts for its destination before it is placed', async () => {
  market = await openWithLimits({ PENSTOCK_ORDERS_PER_DESTINATION: '2' })
  const outcomes = await Promise.all(Array.from({ length: 5 }, (_, n) => claim(n, `192.0.2.${n}`)))
  assert.equal(outcomes.filter((refusal) => refusal === undefined).length, 2)
})

test('a refused request frees its slot, and a lost request occupies its slot for a minute', async () => {
  market = await openWithLimits({ PENSTOCK_ORDERS_PER_IP: '1' })
  assert.equal(await claim(1), undefined)
  await releaseQuota(market.gateway.views, id(1))
  assert.equal(await claim(2), undefined)
  assert.notEqual(await claim(3), undefined)
  await withMarketTables(market.gateway.views)
    .updateTable('gateway_order_slots')
    .set({ at: NOW - 61_000 })
    .execute()
  assert.equal(await claim(3), undefined)
  await pruneQuota(market.gateway.views, NOW)
  const slots = await withMarketTables(market.gateway.views).selectFrom('gateway_order_slots').select('order_id').execute()
  assert.deepEqual(
    slots.map(({ order_id }) => order_id),
    [id(3)],
  )
})

test('the value 0 turns a limit off', async () => {
  market = await openWithLimits({})
  for (let n = 0; n < 30; n++) assert.equal(await claim(n), undefined)
})

test('liquidity.buy over the limit is refused with the reason TOO_MANY_ORDERS', async () => {
  market = await openWithLimits({ PENSTOCK_ORDERS_PER_DESTINATION: '1' })
  market.respondWith(answerWithOrders(market))
  const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }'
  const input = { connection_uri: BUYER_URI, usd_cents: '500' }
  assert.ok(readPath(await market.gql(BUY, { input }), 'liquidity.buy.id'))
  const second = await market.gql(BUY, { input })
  assert.equal(second.errors?.[0]?.extensions['reason'], 'TOO_MANY_ORDERS')
  assert.equal(second.status, 200)
})
