import { orderTermsOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, test } from 'vitest'
import { accepted, BUYER_URI, issued, placed, sells } from '../fake-market.contract.ts'
import { at, type Stage, stage } from '../stage.contract.ts'
import { tablesOf } from '../views/tables.ts'
import { placeOrder } from './place-order.ts'
import { freeSlot, pruneSlots, takeSlot } from './slots.ts'

let market: Stage
afterEach(() => market.close())

const id = (n: number) => `30000000-0000-4000-8000-${`${n}`.padStart(12, '0')}`
const limits = (env: Record<string, string>) =>
  stage({ env: { PENSTOCK_ORDERS_PER_DESTINATION: '0', PENSTOCK_ORDERS_PER_IP: '0', ...env } })
const take = (n: number, ip = '192.0.2.1', destination = 'node') => takeSlot(market.gateway, { orderId: id(n), ip, destination })

test('twenty at once: exactly as many as the limit begin', async () => {
  market = await limits({ PENSTOCK_ORDERS_PER_IP: '5' })
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => take(n)))
  assert.equal(outcomes.filter((refused) => refused === undefined).length, 5)
  assert.match(outcomes.find((refused) => refused !== undefined) ?? '', /5 unpaid or unfinished orders from your address/)
  assert.equal(await take(99, '192.0.2.2'), undefined)
})

test('a destination counts whoever orders for it, and frees its place when an order ends', async () => {
  market = await limits({ PENSTOCK_ORDERS_PER_DESTINATION: '2' })
  const { pubkey } = orderTermsOf().destination
  for (const n of [1, 2]) {
    assert.equal(await take(n, `192.0.2.${n}`, pubkey), undefined)
    await market.happens('order', id(n), [placed(), issued])
  }
  assert.match((await take(3, '192.0.2.3', pubkey)) ?? '', /for this node/)
  assert.equal(await take(3, '192.0.2.3', 'another'), undefined)
  await market.happens('order', id(1), [{ type: 'BuyerFailedToPay', data: { reason: 'expired' } }])
  assert.equal(await take(4, '192.0.2.3', pubkey), undefined)
})

const OWNER = '40000000-0000-4000-8000-000000000004'
const { pubkey: OWN_NODE } = orderTermsOf().destination
const started = { type: 'AttemptStarted', data: { attempt: 1, candidate: orderTermsOf().candidate } }

/** Two strangers have ordered for a node, which is as many as there may be. Its owner orders. */
async function ownerAmongStrangers(facts: Parameters<Stage['happens']>[2] = []) {
  market = await limits({ PENSTOCK_ORDERS_PER_DESTINATION: '2' })
  await market.happens('account', OWNER, [{ type: 'NodeConnected', data: { pubkey: OWN_NODE } }])
  for (const n of [1, 2]) {
    assert.equal(await take(n, `192.0.2.${n}`, OWN_NODE), undefined)
    await market.happens('order', id(n), [placed(), accepted, issued, ...facts], undefined, n)
  }
  const sell = sells(market)
  market.answers(async (ask, options) => {
    await sell(ask, options)
    if (ask.command.type !== 'Withdraw') return
    await market.happens('order', ask.id, [{ type: 'BuyerRejected', data: { reason: 'It was withdrawn.' } }])
  })
  const orders = (n: number, accountId = OWNER) =>
    placeOrder(market.gateway, {
      orderId: id(n),
      ip: '192.0.2.9',
      wish: { ...wish, buyer: { accountId, key: null } },
      isReady: ({ order }) => order.invoice !== null,
    })
  const withdrawn = () => market.sent.flatMap(({ ask }) => (ask.command.type === 'Withdraw' ? [ask.id] : []))
  return { orders, withdrawn }
}

const wish = {
  source: 'buy' as const,
  destination: { pubkey: OWN_NODE, sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  usdCents: '500',
  sizeSat: null,
  offerId: null,
  sellers: null,
  leaseBlocks: null,
  requiredConfirmations: null,
  fundingConfirmsWithinBlocks: null,
  lsps: null,
  record: null,
}

test('strangers do not keep the owner of a node from buying: their oldest unpaid orders make room', async () => {
  const { orders, withdrawn } = await ownerAmongStrangers()
  const refused = { outcome: 'refused', code: 'TOO_MANY_ORDERS' }
  assert.partialDeepStrictEqual(await orders(3, id(99)), refused)
  assert.deepEqual([(await orders(4)).outcome, withdrawn()], ['ready', [id(1)]])
  assert.partialDeepStrictEqual(await orders(5, id(99)), refused)
  assert.deepEqual([(await orders(6)).outcome, withdrawn()], ['ready', [id(1), id(2)]])
  // Its own count as everybody's do.
  assert.partialDeepStrictEqual(await orders(7), refused)
  assert.deepEqual(withdrawn(), [id(1), id(2)])
})

test('what strangers have paid for a node counts for its owner too', async () => {
  const { orders, withdrawn } = await ownerAmongStrangers([started])
  assert.partialDeepStrictEqual(await orders(3), { outcome: 'refused', code: 'TOO_MANY_ORDERS' })
  assert.deepEqual(withdrawn(), [])
})

test('at a destination an order counts from when it was asked for, not from when it begins', async () => {
  market = await limits({ PENSTOCK_ORDERS_PER_DESTINATION: '2' })
  const outcomes = await Promise.all(Array.from({ length: 5 }, (_, n) => take(n, `192.0.2.${n}`)))
  assert.equal(outcomes.filter((refused) => refused === undefined).length, 2)
})

test('a refused wish gives its place back, one that was lost keeps it for a minute', async () => {
  market = await limits({ PENSTOCK_ORDERS_PER_IP: '1' })
  assert.equal(await take(1), undefined)
  await freeSlot(market.gateway.views, id(1))
  assert.equal(await take(2), undefined)
  assert.notEqual(await take(3), undefined)
  await tablesOf(market.gateway.views)
    .updateTable('gateway_order_slots')
    .set({ at: Date.now() - 61_000 })
    .execute()
  assert.equal(await take(3), undefined)
  await pruneSlots(market.gateway.views, Date.now())
  const left = await tablesOf(market.gateway.views).selectFrom('gateway_order_slots').select('order_id').execute()
  assert.deepEqual(
    left.map(({ order_id }) => order_id),
    [id(3)],
  )
})

test('0 is off', async () => {
  market = await limits({})
  for (let n = 0; n < 30; n++) assert.equal(await take(n), undefined)
})

test('buy says that there are too many', async () => {
  market = await limits({ PENSTOCK_ORDERS_PER_DESTINATION: '1' })
  market.answers(sells(market))
  const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }'
  const input = { connection_uri: BUYER_URI, usd_cents: '500' }
  assert.ok(at(await market.gql(BUY, { input }), 'liquidity.buy.id'))
  const second = await market.gql(BUY, { input })
  assert.equal(second.errors?.[0]?.extensions['reason'], 'TOO_MANY_ORDERS')
  assert.equal(second.status, 200)
})
