import { Fault } from '@penstock/kernel/result.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { createQuoteRequest } from '@penstock/testkit/quote-request.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { answerWithOrders } from '../fake-market.fixture.ts'
import { type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'
import { placeOrder } from './place-order.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const BUYER = '40000000-0000-4000-8000-000000000004'
const ANSWER_MS = 60 * SECOND_MS
const destination = { pubkey: createOrderTerms().destination.pubkey, sockets: [] }

let clock: Clock
let market: GatewayHarness
let reports: string[]
beforeEach(async () => {
  clock = createInstantClock(NOW)
  reports = []
  market = await openGatewayHarness({ clock })
  market.respondWith(answerWithOrders(market))
  const admitted = {
    reportReady: () => void reports.push('ready'),
    reportLate: () => void reports.push('late'),
    reportRefused: () => void reports.push('refused'),
  }
  Object.assign(market.gateway, { admission: { enter: () => ({ admitted }), isFull: () => false } })
})
afterEach(() => market.close())

const quoteRequest = createQuoteRequest(BUYER, destination)
const place = () =>
  placeOrder(market.gateway, {
    orderId: ORDER,
    ip: '192.0.2.1',
    prepare: async () => quoteRequest,
    isReady: ({ order }) => order.invoice !== null,
  })
const listSentTypes = () => market.sent.map(({ ask }) => ask.command.type)

/** Replaces the result of queries of a table after the request is sent. @param respond gets the number of the query */
function interceptQueries(table: string, respond: (count: number) => Promise<void>): () => number {
  let count = 0
  const intercepted = new WeakSet<object>()
  const { views } = market.gateway
  const db = views.db.withPlugin({
    transformQuery({ node, queryId }) {
      if (market.sent.length > 0 && JSON.stringify(node).includes(table)) intercepted.add(queryId)
      return node
    },
    async transformResult({ result, queryId }) {
      if (intercepted.has(queryId)) await respond(++count)
      return result
    },
  })
  Object.assign(market.gateway, { views: { ...views, db } })
  return () => count
}
/** Fails the first queries, or all queries. @returns the number of queries */
const failQueries = (table: string, first = Infinity, error: Error = new Fault('no connection within 5 s')) =>
  interceptQueries(table, async (count) => {
    if (count <= first) throw error
  })

test('a fault at the first checks does not fail a purchase, which is ready later', async () => {
  const countQueries = failQueries('gateway_orders_v2', 2)
  assert.equal((await place()).outcome, 'ready')
  assert.deepEqual([countQueries(), listSentTypes(), reports], [3, ['RequestQuote'], ['ready']])
})

test('a purchase whose every check meets a fault is withdrawn at its deadline, and counts as late', async () => {
  const countQueries = failQueries('gateway_orders_v2')
  assert.deepEqual(await place(), { outcome: 'withdrawn' })
  assert.equal(clock.monotonicMs(), ANSWER_MS)
  assert.ok(countQueries() > 10)
  assert.deepEqual([listSentTypes(), reports], [['RequestQuote', 'Withdraw'], ['late']])
  assert.deepEqual(market.loggedWarnings, [{ order: ORDER, reason: 'Fault: no connection within 5 s' }])
})

test('a purchase whose checks get no answer is withdrawn one second after its deadline', async () => {
  interceptQueries('gateway_orders_v2', () => new Promise(() => undefined))
  assert.deepEqual(await place(), { outcome: 'withdrawn' })
  assert.equal(clock.monotonicMs(), ANSWER_MS + SECOND_MS)
  assert.deepEqual([listSentTypes(), reports], [['RequestQuote', 'Withdraw'], ['late']])
})

test('an error other than a fault still fails the purchase', async () => {
  failQueries('gateway_orders_v2', 1, new Error('the table is gone'))
  await assert.rejects(place(), /the table is gone/)
  assert.deepEqual(reports, ['refused'])
})

test('a request that is stored although its sending fails with a fault leads to a ready order', async () => {
  const answerQuote = answerWithOrders(market)
  market.respondWith(async (ask, options) => {
    await answerQuote(ask, options)
    throw new Fault('the brokers have not confirmed messages in time')
  })
  assert.equal((await place()).outcome, 'ready')
  assert.deepEqual(reports, ['ready'])
})

test('a purchase is answered at its deadline if no sending is ever confirmed', async () => {
  market.respondWith(() => new Promise(() => undefined))
  assert.deepEqual(await place(), { outcome: 'withdrawn' })
  assert.equal(clock.monotonicMs(), ANSWER_MS)
  assert.deepEqual([listSentTypes(), reports], [['RequestQuote', 'Withdraw'], ['late']])
})

test('a purchase is withdrawn if the sending of both commands fails with a fault', async () => {
  market.respondWith(() => {
    throw new Fault('the bus is away')
  })
  assert.deepEqual(await place(), { outcome: 'withdrawn' })
  assert.deepEqual([listSentTypes(), reports], [['RequestQuote', 'Withdraw'], ['late']])
})

test('a fault of the search for a deletion of the account is like a missing answer', async () => {
  const countQueries = failQueries('gateway_erasures', 3)
  assert.equal((await place()).outcome, 'ready')
  assert.equal(countQueries(), 4)
})
