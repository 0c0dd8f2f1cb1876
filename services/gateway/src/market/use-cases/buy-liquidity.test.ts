import { systemClock } from '@penstock/adapters/system/clock.ts'
import { hashCredential, isCredential } from '@penstock/credentials/credentials.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI, createOrderPlacedFact, answerWithOrders, makeBusy } from '../fake-market.fixture.ts'
import { hashPageToken } from '../../pages/page-url.ts'
import { findOrderByPageHash } from '../read/orders.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'
import { withMarketTables } from '../views/tables.ts'
import type { QuoteRequest } from '../purchase/place-order.ts'

const BUY = `mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { id session_key } order { transaction_id usd_cents } payment { lightning_invoice redirect_url amount { sats } } } } }`
const GET = 'query Get($id: String!) { user { market { orders { get_order(order_id: $id) { id status payment_status } } } } }'
const LIST = '{ user { transactions { transaction_list { total_count list { id status } } } } }'
const input = { connection_uri: BUYER_URI, usd_cents: '500' }

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness()
  market.respondWith(answerWithOrders(market))
})
afterEach(() => market.close())

test('buy answers with an invoice, a session key and a page, and only that key reads the order', async () => {
  const answer = await market.gql(BUY, { input })
  assert.equal(answer.errors, undefined)
  const id = String(readPath(answer, 'liquidity.buy.order.transaction_id'))
  const key = String(readPath(answer, 'liquidity.buy.account.session_key'))
  assert.equal(readPath(answer, 'liquidity.buy.order.usd_cents'), '500')
  assert.equal(readPath(answer, 'liquidity.buy.payment.lightning_invoice'), 'lnbcrt30u1fake')
  assert.equal(readPath(answer, 'liquidity.buy.payment.amount.sats'), '3000')
  assert.ok(isCredential(key))
  const page = String(readPath(answer, 'liquidity.buy.payment.redirect_url'))
  const [, token = ''] = /^https:\/\/market\.example\/checkout\/([\w-]{43})$/.exec(page) ?? []
  assert.equal((await findOrderByPageHash(market.gateway.views, hashPageToken(token)))?.order.id, id)
  assert.ok(!page.includes(id))

  const mine = await market.gql(GET, { id }, key)
  assert.deepEqual(readPath(mine, 'user.market.orders.get_order'), {
    id,
    status: 'WAITING_FOR_BUYER_PAYMENT',
    payment_status: 'PENDING_PAYMENT',
  })
  assert.deepEqual(readPath(await market.gql(LIST, {}, key), 'user.transactions.transaction_list'), {
    total_count: 1,
    list: [{ id, status: 'WAITING_FOR_BUYER_PAYMENT' }],
  })
  const other = await market.gql(BUY, { input })
  const stranger = await market.gql(GET, { id }, String(readPath(other, 'liquidity.buy.account.session_key')))
  assert.equal(stranger.errors?.[0]?.message, 'Order not found')
})

test.each([`  ${BUYER_URI}`, `${BUYER_URI}\r\n`, `\t${BUYER_URI} \n`, `\u00a0${BUYER_URI}\ufeff`])(
  'a connection_uri with blanks or a line break around it is accepted: %j',
  async (connection_uri) => {
    assert.equal((await market.gql(BUY, { input: { ...input, connection_uri } })).errors, undefined)
    const { destination } = (market.sent.at(-1) ?? assert.fail()).ask.command.data as Pick<QuoteRequest, 'destination'> // a RequestQuote
    assert.equal(`${destination.pubkey}@${destination.sockets[0]}`, BUYER_URI)
  },
)

test('a connection_uri with a mistyped onion name, or a blank inside, is refused', async () => {
  const [pubkey = ''] = BUYER_URI.split('@')
  for (const connection_uri of [`${pubkey}@${'a2'.repeat(28)}.onion:9735`, `${pubkey} @host:9735`]) {
    const { errors } = await market.gql(BUY, { input: { ...input, connection_uri } })
    assert.equal(errors?.[0]?.message, 'connection_uri must be in <pubkey>@<host>:<port> format')
  }
  assert.equal(market.sent.length, 0)
})

test('the RequestQuote command contains the hash of the key but not the key, and a notAfter', async () => {
  await market.close()
  market = await openGatewayHarness({ clock: { ...systemClock, now: () => NOW, monotonicMs: () => 0 } })
  market.respondWith(answerWithOrders(market))
  const answer = await market.gql(BUY, { input: { ...input, options: { private: true, rails_cluster_only: true } } })
  const key = String(readPath(answer, 'liquidity.buy.account.session_key'))
  const [{ ask, options } = assert.fail()] = market.sent
  const quoteRequest = ask.command.data as QuoteRequest & { readonly invoiceBefore?: number }
  assert.equal(quoteRequest.buyer.key?.hash, hashCredential(market.gateway.pepper, key))
  assert.deepEqual([quoteRequest.isPrivate, quoteRequest.railsOnly, quoteRequest.usdCents], [true, true, '500'])
  assert.deepEqual(quoteRequest.destination, { pubkey: BUYER_URI.slice(0, 66), sockets: ['10.0.0.7:9735'] })
  assert.equal(options.notAfter, NOW + 60_000)
  assert.equal(quoteRequest.invoiceBefore, options.notAfter)
  assert.ok(!JSON.stringify(market.sent).includes(key))
})

test('reads of an order are unlimited by default, and limited per order by PENSTOCK_ORDER_POLLS_PER_MINUTE', async () => {
  const pollOrder = async (times: number) => {
    const answer = await market.gql(BUY, { input })
    const [id, key] = ['liquidity.buy.order.transaction_id', 'liquidity.buy.account.session_key'].map((path) =>
      String(readPath(answer, path)),
    )
    const statuses = []
    for (let time = 0; time < times; time++) statuses.push((await market.gql(GET, { id }, key)).status)
    return statuses
  }
  assert.deepEqual(new Set(await pollOrder(30)), new Set([200]))
  await market.close()
  market = await openGatewayHarness({ env: { PENSTOCK_ORDER_POLLS_PER_MINUTE: '2' } })
  market.respondWith(answerWithOrders(market))
  assert.deepEqual(await pollOrder(3), [200, 200, 429])
  assert.deepEqual(await pollOrder(1), [200])
})

test('a session buys again with the same key', async () => {
  const first = await market.gql(BUY, { input })
  const key = String(readPath(first, 'liquidity.buy.account.session_key'))
  const second = await market.gql(BUY, { input }, key)
  assert.equal(readPath(second, 'liquidity.buy.account.session_key'), key)
  assert.equal(readPath(second, 'liquidity.buy.account.id'), readPath(first, 'liquidity.buy.account.id'))
  assert.equal(readPath(await market.gql(LIST, {}, key), 'user.transactions.transaction_list.total_count'), 2)
})

test('an order that is not ready in time is withdrawn, and the buyer can read it', async () => {
  await market.close()
  market = await openGatewayHarness({ clock: createInstantClock(NOW) })
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
  // The order arrives late, and the key in the error reads it.
  const { ask } = market.sent[0] ?? assert.fail()
  await market.projectFacts('order', id, [createOrderPlacedFact({ buyer: (ask.command.data as QuoteRequest).buyer })])
  const found = await market.gql(GET, { id }, String(error?.extensions['session_key']))
  assert.equal(readPath(found, 'user.market.orders.get_order.id'), id)
})

test('a fault after the request is answered like a missing order, with the id and the key', async () => {
  await market.close()
  market = await openGatewayHarness({ clock: createInstantClock(NOW) })
  market.respondWith(() => {
    throw new Fault('the brokers have not confirmed messages in time')
  })
  const { errors: [error] = [] } = await market.gql(BUY, { input })
  assert.match(error?.message ?? '', /^The order was not ready in time and is withdrawn/)
  assert.equal(error?.extensions['transaction_id'], market.sent[0]?.ask.id)
  assert.ok(isCredential(String(error?.extensions['session_key'])))
})

test('a refusal before an order exists contains its reason, and occupies no slot', async () => {
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'NO_SELLER', message: 'Nobody sells a channel of this size.' }),
  )
  const { errors: [error] = [] } = await market.gql(BUY, { input })
  assert.equal(error?.message, 'Nobody sells a channel of this size.')
  assert.deepEqual(error?.extensions, { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'NO_SELLER' })
  assert.deepEqual(await withMarketTables(market.gateway.views).selectFrom('gateway_order_slots').selectAll().execute(), [])
})

test('an order that ends before its invoice is answered with the reason, its id and its key', async () => {
  market.respondWith(async (ask) => {
    if (ask.command.type === 'RequestQuote')
      await market.projectFacts('order', ask.id, [
        createOrderPlacedFact({ buyer: (ask.command.data as QuoteRequest).buyer }),
        { type: 'BuyerRejected', data: { reason: 'Your node cannot be reached.' } },
      ])
  })
  const { errors: [error] = [] } = await market.gql(BUY, { input })
  assert.equal(error?.message, 'Your node cannot be reached.')
  const key = String(error?.extensions['session_key'])
  const found = await market.gql(GET, { id: String(error?.extensions['transaction_id']) }, key)
  assert.deepEqual(readPath(found, 'user.market.orders.get_order.status'), 'BUYER_REJECTED')
  assert.equal(readPath(found, 'user.market.orders.get_order.payment_status'), null)
})

test('a redirect_url is stored as a record, and no command contains it', async () => {
  await market.gql(BUY, { input: { ...input, redirect_url: 'https://shop.example/thanks?order=7' } })
  const { record } = (market.sent[0]?.ask.command.data ?? assert.fail()) as QuoteRequest
  assert.ok(!JSON.stringify(market.sent).includes('shop.example'))
  const row = await market.gateway.records.get(record?.id ?? '')
  assert.equal((JSON.parse(row?.json ?? '{}') as { redirect_url?: string }).redirect_url, 'https://shop.example/thanks?order=7')
})

test('two buys of one request run one after the other, in the order of the document', async () => {
  let running = 0
  market.respondWith(async (ask) => {
    if (ask.command.type !== 'RequestQuote') return
    assert.equal(++running, 1)
    await new Promise((resolve) => setImmediate(resolve))
    await answerWithOrders(market)(ask, market.sent[0]?.options ?? assert.fail())
    running--
  })
  const both = `mutation Both($a: LiquidityOrderInput!, $b: LiquidityOrderInput!) {
    liquidity { first: buy(input: $a) { order { usd_cents } } second: buy(input: $b) { order { usd_cents } } } }`
  const answer = await market.gql(both, { a: { ...input, usd_cents: '600' }, b: { ...input, usd_cents: '700' } })
  assert.deepEqual(answer.data, {
    liquidity: { first: { order: { usd_cents: '600' } }, second: { order: { usd_cents: '700' } } },
  })
  assert.deepEqual(
    market.sent.map(({ ask }) => (ask.command.data as QuoteRequest).usdCents),
    ['600', '700'],
  )
})

test('a buy that fails does not affect the other buy of the request', async () => {
  const two = `mutation Two($a: LiquidityOrderInput!, $b: LiquidityOrderInput!) {
    liquidity { bad: buy(input: $a) { order { usd_cents } } good: buy(input: $b) { order { usd_cents } } } }`
  const answer = await market.gql(two, { a: { ...input, usd_cents: '499' }, b: input })
  assert.deepEqual(answer.data, { liquidity: { bad: null, good: { order: { usd_cents: '500' } } } })
  assert.deepEqual(answer.errors?.[0]?.path, ['liquidity', 'bad'])
})

test('a busy market refuses a purchase at once, sends no command and stores nothing', async () => {
  makeBusy(market, 7)
  const { status, errors } = await market.gql(BUY, { input: { ...input, redirect_url: 'https://shop.example/' } })
  assert.equal(status, 200)
  assert.equal(errors?.[0]?.message, 'The market is busy; try again in 7 seconds')
  assert.deepEqual(errors?.[0]?.extensions, { code: 'INTERNAL_SERVER_ERROR', retry_after: 7 })
  assert.equal(market.sent.length, 0)
  const malformed = await market.gql(BUY, { input: { ...input, usd_cents: '499' } })
  assert.match(malformed.errors?.[0]?.message ?? '', /^usd_cents must be/)
})

test.each([true, false])(
  'a purchase that a busy market refuses does not count for its address (full before: %s)',
  async (isFull) => {
    Object.assign(market.gateway.config, { buyPerMinute: 1 })
    const { admission } = market.gateway
    makeBusy(market, 7, [])
    Object.assign(market.gateway.admission, { isFull: () => isFull })
    for (let n = 0; n < 3; n++) assert.match((await market.gql(BUY, { input })).errors?.[0]?.message ?? '', /^The market is busy/)
    Object.assign(market.gateway, { admission })
    const [first, second] = [await market.gql(BUY, { input }), await market.gql(BUY, { input })]
    assert.deepEqual([first.status, first.errors], [200, undefined])
    assert.equal(second.status, 429)
  },
)

/** An admission that admits every purchase, and records how each ends. */
function recordReports() {
  const reports: string[] = []
  const admitted = {
    reportReady: () => void reports.push('ready'),
    reportLate: () => void reports.push('late'),
    reportRefused: () => void reports.push('refused'),
  }
  return { admission: { enter: () => ({ admitted }), isFull: () => false }, reports }
}

test('a purchase that fails because a database does not answer counts as late for the admission', async () => {
  const { admission, reports } = recordReports()
  const { hostGuard } = market.gateway
  Object.assign(market.gateway, { admission, hostGuard: () => Promise.reject(new Fault('the database does not answer')) })
  assert.equal((await market.gql(BUY, { input })).errors?.length, 1)
  Object.assign(market.gateway, { hostGuard })
  assert.equal((await market.gql(BUY, { input })).errors, undefined)
  assert.deepEqual(reports, ['late', 'ready'])
})

test('a market without space for new orders refuses a purchase as a busy market does', async () => {
  Object.assign(market.gateway, { hasSpaceForOrders: () => false })
  const { errors } = await market.gql(BUY, { input })
  assert.equal(errors?.[0]?.message, 'The market is busy; try again in 60 seconds')
  assert.equal(market.sent.length, 0)
})

test('each purchase reports to the admission control whether it was ready, late or refused', async () => {
  const { admission, reports } = recordReports()
  Object.assign(market.gateway, { admission })
  await market.gql(BUY, { input })
  market.respondWith((ask, options) => market.projectOutcome(ask, options, { code: 'NO_SELLER', message: 'Nobody sells.' }))
  await market.gql(BUY, { input })
  await market.close()
  market = await openGatewayHarness({ clock: createInstantClock(NOW) })
  Object.assign(market.gateway, { admission })
  await market.gql(BUY, { input })
  market.respondWith(() => {
    throw new Error('the bus is away')
  })
  await market.gql(BUY, { input })
  assert.deepEqual(reports, ['ready', 'refused', 'late', 'refused'])
})

test('a restored market refuses a purchase with a message, and sends no command', async () => {
  const restored = await openGatewayHarness({ env: { PENSTOCK_RESTORED: '1' } })
  const answer = await restored.gql(BUY, { input })
  assert.match(answer.errors?.[0]?.message ?? '', /being restored/)
  assert.deepEqual(restored.sent, [])
  await restored.close()
})
