import { hashCredential, isCredential } from '@penstock/runtime/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI, placed, sells } from '../fake-market.contract.ts'
import { pageHash } from '../pages/address.ts'
import { orderByPage } from '../read/orders.ts'
import { at, type Stage, stage } from '../stage.contract.ts'
import { tablesOf } from '../views/tables.ts'
import type { Wish } from './place-order.ts'

const BUY = `mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { id session_key } order { transaction_id usd_cents } payment { lightning_invoice redirect_url amount { sats } } } } }`
const GET = 'query Get($id: String!) { user { market { orders { get_order(order_id: $id) { id status payment_status } } } } }'
const LIST = '{ user { transactions { transaction_list { total_count list { id status } } } } }'
const input = { connection_uri: BUYER_URI, usd_cents: '500' }

let market: Stage
beforeEach(async () => {
  market = await stage()
  market.answers(sells(market))
})
afterEach(() => market.close())

test('buy answers with invoice, keys and a page, and only its key opens the order', async () => {
  const answer = await market.gql(BUY, { input })
  assert.equal(answer.errors, undefined)
  const id = String(at(answer, 'liquidity.buy.order.transaction_id'))
  const key = String(at(answer, 'liquidity.buy.account.session_key'))
  assert.equal(at(answer, 'liquidity.buy.order.usd_cents'), '500')
  assert.equal(at(answer, 'liquidity.buy.payment.lightning_invoice'), 'lnbcrt30u1fake')
  assert.equal(at(answer, 'liquidity.buy.payment.amount.sats'), '3000')
  assert.ok(isCredential(key))
  const page = String(at(answer, 'liquidity.buy.payment.redirect_url'))
  const [, token = ''] = /^https:\/\/market\.example\/checkout\/([\w-]{43})$/.exec(page) ?? []
  assert.equal((await orderByPage(market.gateway.views, pageHash(token)))?.order.id, id)
  assert.ok(!page.includes(id))

  const mine = await market.gql(GET, { id }, key)
  assert.deepEqual(at(mine, 'user.market.orders.get_order'), {
    id,
    status: 'WAITING_FOR_BUYER_PAYMENT',
    payment_status: 'PENDING_PAYMENT',
  })
  assert.deepEqual(at(await market.gql(LIST, {}, key), 'user.transactions.transaction_list'), {
    total_count: 1,
    list: [{ id, status: 'WAITING_FOR_BUYER_PAYMENT' }],
  })
  const other = await market.gql(BUY, { input })
  const stranger = await market.gql(GET, { id }, String(at(other, 'liquidity.buy.account.session_key')))
  assert.equal(stranger.errors?.[0]?.message, 'Order not found')
})

test('the command carries hashes only, and a time after which it is void', async () => {
  const before = Date.now()
  const answer = await market.gql(BUY, { input: { ...input, options: { private: true, rails_cluster_only: true } } })
  const key = String(at(answer, 'liquidity.buy.account.session_key'))
  const [{ ask, options } = assert.fail()] = market.sent
  const wish = ask.command.data as Wish
  assert.equal(wish.buyer.key?.hash, hashCredential(market.gateway.pepper, key))
  assert.deepEqual([wish.isPrivate, wish.railsOnly, wish.usdCents], [true, true, '500'])
  assert.deepEqual(wish.destination, { pubkey: BUYER_URI.slice(0, 66), sockets: ['10.0.0.7:9735'] })
  // Two clocks of whole milliseconds.
  assert.ok((options.notAfter ?? 0) >= before + 1999 && (options.notAfter ?? 0) <= Date.now() + 2001)
  assert.ok(!JSON.stringify(market.sent).includes(key))
})

test('an operator may limit how often an order is asked for; by itself it may be asked for at any pace', async () => {
  const asks = async (times: number) => {
    const answer = await market.gql(BUY, { input })
    const [id, key] = ['liquidity.buy.order.transaction_id', 'liquidity.buy.account.session_key'].map((path) =>
      String(at(answer, path)),
    )
    const statuses = []
    for (let time = 0; time < times; time++) statuses.push((await market.gql(GET, { id }, key)).status)
    return statuses
  }
  assert.deepEqual(new Set(await asks(30)), new Set([200]))
  await market.close()
  market = await stage({ env: { PENSTOCK_ORDER_POLLS_PER_MINUTE: '2' } })
  market.answers(sells(market))
  assert.deepEqual(await asks(3), [200, 200, 429])
  assert.deepEqual(await asks(1), [200])
})

test('a session buys again under its own key', async () => {
  const first = await market.gql(BUY, { input })
  const key = String(at(first, 'liquidity.buy.account.session_key'))
  const second = await market.gql(BUY, { input }, key)
  assert.equal(at(second, 'liquidity.buy.account.session_key'), key)
  assert.equal(at(second, 'liquidity.buy.account.id'), at(first, 'liquidity.buy.account.id'))
  assert.equal(at(await market.gql(LIST, {}, key), 'user.transactions.transaction_list.total_count'), 2)
})

test('an order that is not ready in time is withdrawn, and the buyer can look', async () => {
  market.answers(() => undefined)
  const { errors: [error] = [], data } = await market.gql(BUY, { input })
  assert.deepEqual(data, { liquidity: { buy: null } })
  assert.equal(error?.extensions['code'], 'INTERNAL_SERVER_ERROR')
  const id = String(error?.extensions['transaction_id'])
  assert.deepEqual(
    market.sent.map(({ ask }) => [ask.category, ask.id, ask.command.type]),
    [
      ['quote', id, 'RequestQuote'],
      ['order', id, 'Withdraw'],
    ],
  )
  // It was late, not lost: the key that the error told opens it.
  const { ask } = market.sent[0] ?? assert.fail()
  await market.happens('order', id, [placed({ buyer: (ask.command.data as Wish).buyer })])
  const found = await market.gql(GET, { id }, String(error?.extensions['session_key']))
  assert.equal(at(found, 'user.market.orders.get_order.id'), id)
})

test('what is refused before an order exists tells its reason, and takes no place', async () => {
  market.answers((ask, options) =>
    market.outcome(ask, options, { code: 'NO_SELLER', message: 'Nobody sells a channel of this size.' }),
  )
  const { errors: [error] = [] } = await market.gql(BUY, { input })
  assert.equal(error?.message, 'Nobody sells a channel of this size.')
  assert.deepEqual(error?.extensions, { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'NO_SELLER' })
  assert.deepEqual(await tablesOf(market.gateway.views).selectFrom('gateway_order_slots').selectAll().execute(), [])
})

test('an order that ends before its invoice tells why, with the keys to it', async () => {
  market.answers(async (ask) => {
    if (ask.command.type === 'RequestQuote')
      await market.happens('order', ask.id, [
        placed({ buyer: (ask.command.data as Wish).buyer }),
        { type: 'BuyerRejected', data: { reason: 'Your node cannot be reached.' } },
      ])
  })
  const { errors: [error] = [] } = await market.gql(BUY, { input })
  assert.equal(error?.message, 'Your node cannot be reached.')
  const key = String(error?.extensions['session_key'])
  const found = await market.gql(GET, { id: String(error?.extensions['transaction_id']) }, key)
  assert.deepEqual(at(found, 'user.market.orders.get_order.status'), 'BUYER_REJECTED')
  assert.equal(at(found, 'user.market.orders.get_order.payment_status'), null)
})

test('a redirect address stands beside the facts', async () => {
  await market.gql(BUY, { input: { ...input, redirect_url: 'https://shop.example/thanks?order=7' } })
  const { record } = (market.sent[0]?.ask.command.data ?? assert.fail()) as Wish
  assert.ok(!JSON.stringify(market.sent).includes('shop.example'))
  const kept = await market.gateway.records.get(record?.id ?? '')
  assert.equal((JSON.parse(kept?.json ?? '{}') as { redirect_url?: string }).redirect_url, 'https://shop.example/thanks?order=7')
})

test('two buys of one request run one after the other, in the order of the document', async () => {
  let running = 0
  market.answers(async (ask) => {
    if (ask.command.type !== 'RequestQuote') return
    assert.equal(++running, 1)
    await new Promise((resolve) => setImmediate(resolve))
    await sells(market)(ask, market.sent[0]?.options ?? assert.fail())
    running--
  })
  const both = `mutation Both($a: LiquidityOrderInput!, $b: LiquidityOrderInput!) {
    liquidity { first: buy(input: $a) { order { usd_cents } } second: buy(input: $b) { order { usd_cents } } } }`
  const answer = await market.gql(both, { a: { ...input, usd_cents: '600' }, b: { ...input, usd_cents: '700' } })
  assert.deepEqual(answer.data, {
    liquidity: { first: { order: { usd_cents: '600' } }, second: { order: { usd_cents: '700' } } },
  })
  assert.deepEqual(
    market.sent.map(({ ask }) => (ask.command.data as Wish).usdCents),
    ['600', '700'],
  )
})

test('one that fails leaves the other', async () => {
  const two = `mutation Two($a: LiquidityOrderInput!, $b: LiquidityOrderInput!) {
    liquidity { bad: buy(input: $a) { order { usd_cents } } good: buy(input: $b) { order { usd_cents } } } }`
  const answer = await market.gql(two, { a: { ...input, usd_cents: '499' }, b: input })
  assert.deepEqual(answer.data, { liquidity: { bad: null, good: { order: { usd_cents: '500' } } } })
  assert.deepEqual(answer.errors?.[0]?.path, ['liquidity', 'bad'])
})

test('while the market is restored a purchase is refused with a sentence, and nothing is sent', async () => {
  const restored = await stage({ env: { PENSTOCK_RESTORED: '1' } })
  const answer = await restored.gql(BUY, { input })
  assert.match(answer.errors?.[0]?.message ?? '', /being restored/)
  assert.deepEqual(restored.sent, [])
  await restored.close()
})
