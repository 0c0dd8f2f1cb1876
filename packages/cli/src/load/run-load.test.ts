import { expect, test } from 'vitest'
import { createFakeTransport } from './market/fake-transport.fixture.ts'
import { MAX_CONNECTIONS } from './market/http-client.ts'
import type { StepLatency, LatencyStep } from './measurements/latency-meter.ts'
import { listFailures } from './report/outcome-format.ts'
import { listReportNotes } from './report/report-notes.ts'
import { runLoad } from './run-load.ts'
import type { LoadSettings } from './settings.ts'
import { createVirtualRun } from './virtual-run.fixture.ts'

const HOST = 'http://a.example'
const PRICE_ANSWER = { market: { liquidity: { liquidity_per_usd: { sats: '1' } } } }
const ORDER_ANSWER = { user: { market: { orders: { get_order: { status: 'WAITING_FOR_BUYER_PAYMENT' } } } } }
const createPurchase = (id: number) => ({
  account: { session_key: 'key' },
  order: { transaction_id: `order-${id}` },
  payment: { lightning_invoice: 'lnbcrt50u1x', redirect_url: `${HOST}/order` },
})

/**
 * Fixture: a market without a network and in virtual time. It answers every request but a purchase at once.
 * @param waitForTurn delays the answer to purchase n
 */
function createMarket(waitForTurn: (nth: number, pause: (ms: number) => Promise<void>) => Promise<unknown>) {
  const time = createVirtualRun()
  let buyCount = 0
  const answer = async (body: string): Promise<object> => {
    if (body.includes('liquidity_per_usd')) return PRICE_ANSWER
    if (body.includes('get_order')) return ORDER_ANSWER
    if (!body.includes('buy(')) return {}
    const nth = ++buyCount
    await waitForTurn(nth, (ms) => time.clock.sleep(ms))
    return { liquidity: { buy: createPurchase(nth) } }
  }
  const transport = createFakeTransport(async ({ body }) => ({ data: await answer(JSON.stringify(body ?? {})) }))
  const marketAddress = { url: new URL(HOST), addresses: [] }
  const run = (changed: Partial<LoadSettings>) =>
    time.complete(
      runLoad({
        marketAddress,
        token: undefined,
        settings: { ...settings, ...changed },
        interrupt: new AbortController().signal,
        progress: () => undefined,
        clock: time.clock,
        openTransport: () => transport,
      }),
    )
  return { run, countBuys: () => buyCount }
}

const settings: LoadSettings = {
  orders: 40,
  ratePerSecond: 200,
  arrivals: 'constant',
  mix: [{ word: 'abandon', percent: 100 }],
  seed: 1,
  durationMs: 60_000,
  privatePercent: 0,
  maxInFlight: 10_000,
  drainMs: 60_000,
  timeoutMs: 30_000,
  pollMs: 1000,
  to: [`02${'ab'.repeat(32)}@a.example:9735`],
  sellers: null,
  allowErrors: 0,
  allowUnfinished: false,
  allowShed: false,
}
const findLatency = (latencies: readonly StepLatency[], wanted: LatencyStep) => latencies.find(({ step }) => step === wanted)

test('the latencies include unanswered orders, even if their errors are allowed', async () => {
  const { run } = createMarket((nth) => (nth % 10 === 0 ? new Promise(() => undefined) : Promise.resolve()))
  const timeoutMs = 5000
  const outcome = await run({ timeoutMs, allowErrors: 4 })
  expect(listFailures(outcome)).toEqual([])
  expect(outcome.counts).toMatchObject({ arrived: 40, placed: 36, errors: 4, unsent: 0 })
  const invoice = findLatency(outcome.latencies, 'invoice (buy)')
  expect(invoice).toMatchObject({ count: 40, timedOut: 4, missing: 0 })
  expect(invoice?.p99Ms).toBeGreaterThanOrEqual(timeoutMs - 1)
  expect(listReportNotes(outcome)).toContainEqual(expect.stringMatching(/^No answer came in time, .*: invoice \(buy\) 4\.$/))
})

test('socket wait measures the wait for a free connection of this program, apart from the wait for the market', async () => {
  const orders = MAX_CONNECTIONS + 100
  const full = Promise.withResolvers<void>()
  const { run } = createMarket((nth, pause) => {
    if (nth === MAX_CONNECTIONS) void pause(600).then(full.resolve)
    return full.promise
  })
  const outcome = await run({ orders, ratePerSecond: 1000 })
  expect(listFailures(outcome)).toEqual([])
  const [invoice, wait] = [findLatency(outcome.latencies, 'invoice (buy)'), findLatency(outcome.latencies, 'socket wait')]
  expect(invoice).toMatchObject({ count: orders, timedOut: 0, unsent: 0, missing: 0 })
  // The last hundred orders were due before the first order was answered.
  expect(wait?.maxMs).toBeGreaterThan(400)
  expect(invoice?.maxMs).toBeGreaterThan(wait?.maxMs ?? Infinity)
  expect(findLatency(outcome.latencies, 'start lag')?.p50Ms).toBeLessThan(wait?.maxMs ?? 0)
  expect(listReportNotes(outcome)).toContainEqual(
    expect.stringMatching(/^Requests waited for one of this program's 256 connections/),
  )
})

test('a request that was never sent counts as unsent and not as timed out, and fails the run', async () => {
  const { run, countBuys } = createMarket(() => new Promise(() => undefined))
  // Two rounds of timeouts hold every connection for longer than the timeout of the last requests.
  const pace = { orders: 2 * MAX_CONNECTIONS + 60, ratePerSecond: 1000, timeoutMs: 1500, allowErrors: 1000 }
  const outcome = await run(pace)
  const { unsent, requests } = outcome.counts
  expect(unsent).toBe(60)
  expect({ bought: countBuys(), requests }).toEqual({ bought: pace.orders - unsent, requests: pace.orders - unsent })
  expect(findLatency(outcome.latencies, 'invoice (buy)')).toMatchObject({
    count: pace.orders,
    timedOut: countBuys(),
    unsent,
    missing: 0,
  })
  expect(listFailures(outcome)).toContainEqual(
    expect.stringMatching(new RegExp(`^"Every due order and request was sent" fails: ${unsent} requests never sent`)),
  )
})
