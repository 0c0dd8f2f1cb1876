import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import type { Response } from 'express'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type GatewayHarness, openGatewayHarness, readPath } from '../gateway-harness.fixture.ts'
import { createLsps1Mount } from '../lsps1/routes.ts'
import { answerWithOrders, BUYER_URI } from '../market/fake-market.fixture.ts'
import { mountPageRoutes } from '../pages/routes.ts'
import { countQuestionSlots, createQuestionLimit } from './question-limit.ts'

const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
const OFFERS = '{ market { offer { offers { total_count } } } }'
const turn = (): Promise<void> => new Promise(setImmediate)

test.each([
  [undefined, 4],
  [8, 4],
  [3, 1],
  [1, 1],
])('with %s database connections, %i questions run at a time', (connections, slots) => {
  expect(countQuestionSlots(connections)).toBe(slots)
})

test('questions beyond the slots wait in order, and a failed question frees its slot', async () => {
  const { run } = createQuestionLimit(2)
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  const started: number[] = []
  const answers = gates.map((gate, index) =>
    run(() => {
      started.push(index)
      return gate.promise
    }).catch((error: unknown) => String(error)),
  )
  await turn()
  expect(started).toEqual([0, 1])
  gates[1]?.reject(new Error('a fault'))
  await turn()
  expect(started).toEqual([0, 1, 2])
  for (const { resolve } of gates) resolve()
  expect(await Promise.all(answers)).toEqual([undefined, 'Error: a fault', undefined, undefined])
})

test('a question has one slot however often it waits for its turn, and returns it once', async () => {
  const { begin } = createQuestionLimit(1)
  const [first, second] = [begin(), begin()]
  await first.waitForTurn()
  await first.waitForTurn()
  const waiting = second.waitForTurn()
  first.end()
  first.end()
  await waiting
  let isThird = false
  void begin()
    .waitForTurn()
    .then(() => (isThird = true))
  await turn()
  expect(isThird).toBe(false)
})

test('a question whose caller leaves stops waiting, and never runs', async () => {
  const { begin, run } = createQuestionLimit(1)
  const occupying = begin()
  await occupying.waitForTurn()
  // Only the event and these fields are used.
  const response = Object.assign(new EventEmitter(), { closed: false, destroyed: false })
  let hasRun = false
  const waiting = run(async () => (hasRun = true), response as unknown as Response)
  response.emit('close')
  await assert.rejects(() => waiting, /closed the connection/)
  occupying.end()
  assert.equal(await run(async () => 'the next one'), 'the next one')
  expect(hasRun).toBe(false)
})

/** Opens a gateway with one slot for questions. */
async function openMarket(): Promise<GatewayHarness> {
  const nodeSources = { peers: { addresses: async () => ({ alias: '', sockets: [] }) }, chain: { feeRate: async () => 5 } }
  const market = await openGatewayHarness({ databaseConnections: 2, mounts: [createLsps1Mount(nodeSources), mountPageRoutes] })
  onTestFinished(() => market.close())
  market.respondWith(answerWithOrders(market))
  return market
}

/** Occupies the only slot. @returns a function that frees it */
async function occupySlot(market: GatewayHarness): Promise<() => void> {
  const question = market.gateway.questions.begin()
  await question.waitForTurn()
  return question.end
}

describe('while every slot for questions is occupied', () => {
  test('a mutation is answered, and questions of each interface wait', async () => {
    const market = await openMarket()
    const free = await occupySlot(market)
    const bought = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
    const id = String(readPath(bought, 'liquidity.buy.order.transaction_id'))
    const token = deriveCheckoutToken(market.gateway.pepper, id)
    const answered: string[] = []
    const asked = [
      market.gql(OFFERS).then(() => answered.push('query')),
      // A query with the word is parsed before it waits.
      market.gql(`${OFFERS} # mutation`).then(() => answered.push('query with the word')),
      ...[`/api/lsp/v1/cheapest/get_order?order_id=${id}`, '/', `/orders/${token}`, `/checkout/${token}`].map((path) =>
        fetch(market.base + path).then(() => answered.push(path)),
      ),
    ]
    // Requests that did not wait would be answered before the second purchase.
    await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
    expect(answered).toEqual([])
    free()
    await Promise.all(asked)
    expect(answered).toHaveLength(6)
  })

  test('a question whose caller leaves is not answered, and frees its place', async () => {
    const market = await openMarket()
    const free = await occupySlot(market)
    const leaving = new AbortController()
    const asked = ['/graphql?query={market{id}}', '/'].map((path) => fetch(market.base + path, { signal: leaving.signal }))
    await turn()
    leaving.abort()
    assert.deepEqual(
      (await Promise.allSettled(asked)).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    free()
    assert.equal((await market.gql('{ market { id } }')).errors, undefined)
    assert.deepEqual(market.loggedErrors, [])
  })
})

test('refused and failed questions free their slots', async () => {
  const market = await openMarket()
  for (const query of ['{ nope }', '{ market {', 'query { user { market { orders { get_order(order_id: "x") { id } } } } }'])
    assert.ok((await market.gql(query)).errors, query)
  assert.ok((await market.gql(OFFERS, {}, 'pak_unknown')).errors)
  assert.equal((await fetch(`${market.base}/api/lsp/v1/cheapest/get_order?order_id=x`)).status, 400)
  assert.equal((await fetch(`${market.base}/orders/unknown`)).status, 404)
  assert.equal((await market.gql('{ market { id } }')).errors, undefined)
})

test('an open event stream occupies no slot', async () => {
  const market = await openMarket()
  const bought = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
  const token = deriveCheckoutToken(market.gateway.pepper, String(readPath(bought, 'liquidity.buy.order.transaction_id')))
  const leaving = new AbortController()
  const response = await fetch(`${market.base}/orders/${token}/events`, { signal: leaving.signal })
  assert.equal(response.status, 200)
  assert.equal((await market.gql('{ market { id } }')).errors, undefined)
  leaving.abort()
})
