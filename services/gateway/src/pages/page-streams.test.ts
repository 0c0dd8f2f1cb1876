import { systemClock } from '@penstock/adapters/system/clock.ts'
import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test, vi } from 'vitest'
import { BUYER_URI, answerWithOrders } from '../market/fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../gateway-harness.fixture.ts'
import { mountPageRoutes } from './routes.ts'

const BUY = 'mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
const held = {
  type: 'PaymentHeld',
  data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 },
}
const valid = { type: 'OrderValid', data: { settledAt: NOW } }

let market: GatewayHarness
let clock: ReturnType<typeof createSkippableClock>
beforeEach(async () => {
  clock = createSkippableClock({ ...systemClock, now: () => NOW })
  market = await openGatewayHarness({ mounts: [mountPageRoutes], clock })
  market.respondWith(answerWithOrders(market))
})
afterEach(() => market.close())

/** Buys a channel. @returns the order's id, and the token of its pages */
async function buy(): Promise<{ readonly id: string; readonly token: string }> {
  const answer = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
  const id = String(readPath(answer, 'liquidity.buy.order.transaction_id'))
  return { id, token: deriveCheckoutToken(market.gateway.pepper, id) }
}
const open = (path: string, signal?: AbortSignal) =>
  fetch(market.base + path, { headers: { accept: 'text/event-stream' }, ...(signal && { signal }) })

/** Reads the names of a stream's events as scripts see them; a comment is no event. */
async function* readEvents(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? [])
    // fetch's chunks are bytes
    for (const [, name = ''] of decoder.decode(chunk as Uint8Array, { stream: true }).matchAll(/^event: (\w+)$/gm)) yield name
}

test('a stream reports each change of the page, and the end of all changes', async () => {
  const { id, token } = await buy()
  const response = await open(`/checkout/${token}/events`)
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
  const seen: string[] = []
  for await (const name of readEvents(response)) {
    seen.push(name)
    if (seen.length === 1) await market.projectFacts('order', id, [held])
    if (seen.length === 2) await market.projectFacts('order', id, [valid])
  }
  assert.deepEqual(seen, ['changed', 'changed', 'changed', 'final'])
})

test.each(['checkout', 'orders'])('a quiet stream of %s sends events, so that its page sees that it works', async (kind) => {
  const { token } = await buy()
  const events = readEvents(await open(`/${kind}/${token}/events`))
  assert.equal((await events.next()).value, 'changed')
  let first: unknown
  void events.next().then(({ value }) => {
    first = value
  })
  // The stream may begin its wait only later, so the clock skips more than once.
  const skipToEvent = (): unknown => {
    if (first === undefined) clock.skip(20 * SECOND_MS)
    return first
  }
  assert.equal(await waitUntil('an event of a quiet stream', skipToEvent, 10_000), 'ping')
})

test('an address has at most twenty streams', async () => {
  const { token } = await buy()
  const disconnection = new AbortController()
  const follow = () => open(`/orders/${token}/events`, disconnection.signal)
  const streams = await Promise.all(Array.from({ length: 20 }, follow))
  assert.deepEqual(new Set(streams.map(({ status }) => status)), new Set([200]))
  assert.equal((await follow()).status, 429)
  disconnection.abort()
})

test('a stream does not prevent the service from stopping', async () => {
  const { token } = await buy()
  const response = await open(`/orders/${token}/events`)
  const body = response.text()
  market.stop()
  clock.skip(SECOND_MS) // a stream notices the end of the service once per second
  assert.ok((await body).includes('event: changed'))
})

test('a stream reads no order after the service has stopped, because the database may be closed', async () => {
  const { token } = await buy()
  const body = (await open(`/orders/${token}/events`)).text()
  // Every read of an order begins with this call.
  const reads = vi.spyOn(market.gateway.views.db, '$extendTables')
  market.stop()
  clock.skip(SECOND_MS)
  await body
  assert.equal(reads.mock.calls.length, 0)
})
