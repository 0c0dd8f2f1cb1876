import { beforeEach, expect, test } from 'vitest'
import type { Json } from '../../json.ts'
import { generateLoad as startLoad } from './generator.ts'
import type { LoadMarket } from '../market/load-market.ts'
import { createLatencyMeter, type LatencyStep } from '../measurements/latency-meter.ts'
import type { LoadOrder } from './load-order.ts'
import type { Arrival } from './arrival-schedule.ts'
import type { OrderKind } from './mix.ts'
import { createLoadCounters } from '../measurements/counters.ts'
import { BUSY, TIMED_OUT, RequestError, UNSENT } from '../market/request-error.ts'
import { createVirtualRun, type VirtualRun } from '../virtual-run.fixture.ts'

let time: VirtualRun
beforeEach(() => void (time = createVirtualRun()))
const pause = (ms: number) => time.clock.sleep(ms)
const generateLoad: typeof startLoad = (run, options) => time.complete(startLoad(run, options))

const arrivalsEvery = (everyMs: number, count: number, kind: OrderKind = 'abandon'): readonly Arrival[] =>
  Array.from({ length: count }, (_, index) => ({ atMs: index * everyMs, kind, buyer: 0, isPrivate: false }))

let purchaseCount = 0
const createPurchase = (): Json => ({
  liquidity: {
    buy: {
      account: { session_key: 'key' },
      order: { transaction_id: `order-${purchaseCount++}` },
      payment: { lightning_invoice: 'lnbcrt50u1x', redirect_url: 'http://a.example/order' },
    },
  },
})

function createRun(graphql: () => Promise<Json>) {
  const stop = new AbortController()
  const run = {
    market: {
      call: () => Promise.reject(new Error('this call is not expected')),
      graphql,
      lsps1: graphql,
      page: () => Promise.resolve(),
      operator: null,
    } satisfies LoadMarket,
    targets: { buyers: [{ alias: null, uri: '02ab@a:1', pubkey: '02ab' }], simulation: null },
    meter: createLatencyMeter(),
    counters: createLoadCounters(),
    orders: [] as LoadOrder[],
    manualBuyer: null,
    pollMs: 20,
    clock: time.clock,
    signal: stop.signal,
  }
  const findLatency = (wantedStep: LatencyStep) => run.meter.latencies().find(({ step }) => step === wantedStep)
  return { run, stop, findLatency, invoice: () => findLatency('invoice (buy)') }
}

/** Fixture: a run in which every buyer pays. @param answers the answers to the buyers' polls, in order */
function createPaidRun(answerBuy: () => Promise<Json>, answers: readonly (() => Promise<Json>)[]) {
  const remaining = [...answers]
  const asked: number[] = []
  const { run, ...rest } = createRun(() => Promise.reject(new Error('this request is not expected')))
  const answerPoll = (): Promise<Json> => {
    asked.push(time.now())
    return (remaining.shift() ?? (() => Promise.resolve(orderAnswer('VALID_CHANNEL_OPENING'))))()
  }
  const graphql = (query: string): Promise<Json> => (query.includes('get_order') ? answerPoll() : answerBuy())
  const operator = () => Promise.resolve({ payment_hash: 'hash', state: 'IN_FLIGHT' })
  const simulation = { operator, sellers: [], spare: null, marketAlias: 'market' }
  const targets = { buyers: [{ alias: 'buyer', uri: '02ab@a:1', pubkey: '02ab' }], simulation }
  return { ...rest, asked, run: { ...run, market: { ...run.market, graphql }, targets } }
}
const orderAnswer = (status: string): Json => ({ user: { market: { orders: { get_order: { status } } } } })
const rejectLater = (code: string, afterMs: number) => () =>
  pause(afterMs).then(() => Promise.reject(new RequestError(code, 'no answer came')))

const settings = { maxInFlight: 100, drainMs: 10_000 }
const ignoreProgress = (): void => undefined

test('the latency of an order is measured from its due time while the market stalls', async () => {
  // The market answers no request for the first 400 ms, in which all orders are due.
  const stall = pause(400)
  const { run, invoice } = createRun(() => stall.then(createPurchase))
  const { endedBy, seconds } = await generateLoad(run, { arrivals: arrivalsEvery(50, 8), settings, progress: ignoreProgress })
  expect({ endedBy, ...run.counters.counts() }).toMatchObject({ endedBy: 'itself', arrived: 8, placed: 8, shed: 0, errors: 0 })
  expect(invoice()?.maxMs).toBeGreaterThan(380)
  expect(invoice()?.p50Ms).toBeGreaterThan(150)
  expect(seconds.at(-1)).toMatchObject({ arrived: 8, placed: 8, inFlight: 0 })
})

test('an order that is due while too many are in flight is shed, and never started later', async () => {
  const semaphore = Promise.withResolvers<void>()
  const { run } = createRun(() => semaphore.promise.then(createPurchase))
  void pause(200).then(semaphore.resolve)
  await generateLoad(run, { arrivals: arrivalsEvery(5, 20), settings: { ...settings, maxInFlight: 3 }, progress: ignoreProgress })
  expect(run.counters.counts()).toMatchObject({ arrived: 20, placed: 3, shed: 17 })
})

test('no order starts during a pause that the market requests', async () => {
  let requestCount = 0
  const { run } = createRun(() => {
    if (requestCount++ === 0) return Promise.reject(new RequestError('throttled', 'the market requests a pause', 150))
    return Promise.resolve(createPurchase())
  })
  await generateLoad(run, { arrivals: arrivalsEvery(10, 30), settings, progress: ignoreProgress })
  const { arrived, placed, held, throttles, errors } = run.counters.counts()
  expect({ arrived, throttles, errors }).toEqual({ arrived: 30, throttles: 1, errors: 0 })
  expect(placed + held).toBe(30)
  expect(held).toBeGreaterThan(5)
  expect(placed).toBeGreaterThan(5)
})

test('a run ends at the drain limit, and at once after Ctrl-C', async () => {
  const never = (): Promise<Json> => new Promise(() => undefined)
  const limited = createRun(never)
  const drained = await generateLoad(limited.run, {
    arrivals: arrivalsEvery(1, 2),
    settings: { ...settings, drainMs: 100 },
    progress: ignoreProgress,
  })
  expect(drained.endedBy).toBe('drain limit')
  const stopped = createRun(never)
  void pause(50).then(() => stopped.stop.abort())
  const ended = await generateLoad(stopped.run, { arrivals: arrivalsEvery(1000, 60), settings, progress: ignoreProgress })
  expect(ended.endedBy).toBe('interrupt')
  expect(stopped.run.counters.arrived).toBe(1)
})

test('the end of the arrivals is reported once, while orders are still in flight', async () => {
  const { run, stop } = createRun(() => pause(5000).then(createPurchase))
  const startedAt = time.now()
  const ends: number[] = []
  const onArrivalsEnd = (): void => void ends.push(time.now() - startedAt)
  const arrivals = arrivalsEvery(100, 3)
  await generateLoad(run, { arrivals, settings, progress: ignoreProgress, onArrivalsEnd })
  expect(ends).toEqual([200])
  stop.abort()
  await generateLoad(run, { arrivals, settings, progress: ignoreProgress, onArrivalsEnd })
  expect(ends).toHaveLength(2)
})

test('errors are counted by request kind and error code', async () => {
  const { run } = createRun(() => Promise.reject(new RequestError('HTTP 503', 'the service is starting')))
  await generateLoad(run, { arrivals: arrivalsEvery(1, 3), settings, progress: ignoreProgress })
  expect(run.counters.errorCounts()).toEqual([
    { where: 'abandon: order', code: 'HTTP 503', count: 3, first: 'the service is starting' },
  ])
})

test('a refused order is timed until its refusal, and counts as missing in no other step', async () => {
  const { run, findLatency, invoice } = createRun(rejectLater(BUSY, 30))
  await generateLoad(run, { arrivals: arrivalsEvery(100, 3), settings, progress: ignoreProgress })
  expect(findLatency('refused')).toMatchObject({ count: 3, missing: 0 })
  expect(findLatency('refused')?.p50Ms).toBeCloseTo(30, 0)
  expect(invoice()).toBeUndefined()
})

test('an unanswered order is in the invoice latency with its wait, and counts as missing in the later steps', async () => {
  const stalling = [rejectLater(TIMED_OUT, 300), rejectLater(UNSENT, 200)]
  const { run, findLatency } = createPaidRun(() => (stalling.shift() ?? (() => Promise.resolve(createPurchase())))(), [])
  await generateLoad(run, { arrivals: arrivalsEvery(5, 10, 'buy'), settings, progress: ignoreProgress })
  const invoice = findLatency('invoice (buy)')
  expect(invoice).toMatchObject({ count: 10, timedOut: 1, unsent: 1, missing: 0 })
  expect(invoice?.maxMs).toBeGreaterThan(295)
  expect(run.counters.counts()).toMatchObject({ arrived: 10, placed: 8, errors: 2, unsent: 1 })
  for (const step of ['payment held', 'opening', 'settled'] as const)
    expect(findLatency(step)).toMatchObject({ count: 8, missing: 2 })
})

test('failed, shed and held back orders are missing, so that count and missing add up to the due orders', async () => {
  const refusals = [
    new RequestError('HTTP 503', 'the service is starting'),
    new RequestError('throttled', 'the market requests a pause', 150),
  ]
  const { run, findLatency } = createPaidRun(() => {
    const refusal = refusals.shift()
    return refusal ? Promise.reject(refusal) : pause(60).then(createPurchase)
  }, [])
  await generateLoad(run, {
    arrivals: arrivalsEvery(10, 40, 'buy'),
    settings: { ...settings, maxInFlight: 3 },
    progress: ignoreProgress,
  })
  const { placed, shed, held } = run.counters.counts()
  expect(shed).toBeGreaterThan(0)
  expect(held).toBeGreaterThan(1)
  expect(1 + placed + shed + held).toBe(40)
  for (const step of ['invoice (buy)', 'payment held', 'opening', 'settled'] as const)
    expect(findLatency(step)).toMatchObject({ count: placed, missing: 40 - placed, timedOut: 0, unsent: 0 })
  expect(findLatency('page')).toMatchObject({ count: placed, missing: 0 })
})

test('a failed order is not missing from the steps that it never reached', async () => {
  const { run, findLatency } = createPaidRun(
    () => Promise.resolve(createPurchase()),
    [
      () => Promise.resolve(orderAnswer('WAITING_FOR_CHANNEL_OPEN')),
      () => Promise.resolve(orderAnswer('SELLER_FAILED_TO_OPEN_CHANNEL')),
    ],
  )
  await generateLoad(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: ignoreProgress })
  expect(findLatency('payment held')).toMatchObject({ count: 1, missing: 0 })
  expect([findLatency('opening'), findLatency('settled')]).toEqual([undefined, undefined])
})

test('orders that are in flight when the run ends are missing from their remaining steps', async () => {
  const never = Array.from({ length: 100 }, () => () => Promise.resolve(orderAnswer('WAITING_FOR_CHANNEL_OPEN')))
  const { run, findLatency } = createPaidRun(() => Promise.resolve(createPurchase()), never)
  await generateLoad(run, {
    arrivals: arrivalsEvery(1, 1, 'buy'),
    settings: { ...settings, drainMs: 100 },
    progress: ignoreProgress,
  })
  expect(findLatency('payment held')).toMatchObject({ count: 1, missing: 0 })
  expect(findLatency('settled')).toMatchObject({ count: 0, missing: 1, p99Ms: null })
})

test('polls that are due during a requested pause are counted, and are missing from the latencies of get_order', async () => {
  const pausing = () => Promise.reject(new RequestError('throttled', 'the market requests a pause', 150))
  const { run, findLatency, asked } = createPaidRun(() => Promise.resolve(createPurchase()), [pausing])
  await generateLoad(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: ignoreProgress })
  const { unasked, throttles, errors } = run.counters.counts()
  expect({ throttles, errors }).toEqual({ throttles: 1, errors: 0 })
  expect(asked).toHaveLength(2)
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(149)
  // These are the poll whose answer requested the pause, and the polls that were due during the pause of 150 ms.
  expect(unasked).toBeGreaterThanOrEqual(7)
  expect(findLatency('get_order')?.missing).toBeGreaterThanOrEqual(unasked)
})

test('an unanswered poll, the polls that it delayed, and an unanswered page are in the latencies with their waits', async () => {
  const { run, findLatency } = createPaidRun(() => Promise.resolve(createPurchase()), [rejectLater(TIMED_OUT, 110)])
  const page = () => Promise.reject(new RequestError(TIMED_OUT, 'no answer came'))
  await generateLoad(
    { ...run, market: { ...run.market, page } },
    { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: ignoreProgress },
  )
  expect(findLatency('page')).toMatchObject({ count: 1, timedOut: 1, missing: 0 })
  const polls = findLatency('get_order')
  expect(polls?.maxMs).toBeGreaterThan(105)
  expect(polls?.timedOut).toBeGreaterThanOrEqual(5)
  expect(polls).toMatchObject({ count: (polls?.timedOut ?? 0) + 1, missing: 0 })
})

test('a poll that ends in an error is missing together with the polls that it delayed', async () => {
  const { run, findLatency } = createPaidRun(() => Promise.resolve(createPurchase()), [rejectLater('HTTP 503', 110)])
  await generateLoad(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: ignoreProgress })
  expect(run.counters.counts().errors).toBe(1)
  const polls = findLatency('get_order')
  // Only the last poll, which succeeded, has a latency.
  expect(polls).toMatchObject({ count: 1, timedOut: 0 })
  expect(polls?.missing).toBeGreaterThanOrEqual(5)
})
