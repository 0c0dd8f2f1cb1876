import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { drive } from './drive.ts'
import type { Market } from './market.ts'
import { openMeter, type Step } from './meter.ts'
import type { LoadOrder } from './order.ts'
import type { Arrival } from './schedule.ts'
import type { Kind } from './shares.ts'
import { openTally } from './tally.ts'
import { TIMED_OUT, Trouble, UNSENT } from './trouble.ts'

const arrivalsEvery = (everyMs: number, count: number, kind: Kind = 'abandon'): readonly Arrival[] =>
  Array.from({ length: count }, (_, index) => ({ atMs: index * everyMs, kind, buyer: 0, isPrivate: false }))

let made = 0
const bought = (): Json => ({
  liquidity: {
    buy: {
      account: { session_key: 'key' },
      order: { transaction_id: `order-${made++}` },
      payment: { lightning_invoice: 'lnbcrt50u1x', redirect_url: 'http://a.example/order' },
    },
  },
})

function running(graphql: () => Promise<Json>) {
  const stop = new AbortController()
  const run = {
    market: { graphql, lsps1: graphql, page: () => Promise.resolve(), operator: null } satisfies Market,
    world: { buyers: [{ alias: null, uri: '02ab@a:1', pubkey: '02ab' }], simulation: null },
    meter: openMeter(),
    tally: openTally(),
    orders: [] as LoadOrder[],
    manual: null,
    pollMs: 20,
    signal: stop.signal,
  }
  const of = (wanted: Step) => run.meter.latencies().find(({ step }) => step === wanted)
  return { run, stop, of, invoice: () => of('invoice (buy)') }
}

/** A market of which each order has a buyer that pays. @param answers what the buyers' questions find, one after the other */
function selling(buying: () => Promise<Json>, answers: readonly (() => Promise<Json>)[]) {
  const left = [...answers]
  const asked: number[] = []
  const { run, ...rest } = running(() => Promise.reject(new Error('nobody asks it')))
  const look = (): Promise<Json> => {
    asked.push(performance.now())
    return (left.shift() ?? (() => Promise.resolve(standing('VALID_CHANNEL_OPENING'))))()
  }
  const graphql = (query: string): Promise<Json> => (query.includes('get_order') ? look() : buying())
  const operator = () => Promise.resolve({ payment_hash: 'hash', state: 'IN_FLIGHT' })
  const simulation = { operator, sellers: [], spare: null, marketAlias: 'market' }
  const world = { buyers: [{ alias: 'buyer', uri: '02ab@a:1', pubkey: '02ab' }], simulation }
  return { ...rest, asked, run: { ...run, market: { ...run.market, graphql }, world } }
}
const standing = (status: string): Json => ({ user: { market: { orders: { get_order: { status } } } } })
const silence = (code: string, afterMs: number) => () =>
  pause(afterMs).then(() => Promise.reject(new Trouble(code, 'nobody answered')))

const settings = { maxInFlight: 100, drainMs: 10_000 }
const quiet = (): void => undefined

test('an order that the market keeps waiting has waited since it was due', async () => {
  // Nobody is answered for 400 ms: whoever came meanwhile waited from then on, and not from when he was served.
  const stall = pause(400)
  const { run, invoice } = running(() => stall.then(bought))
  const { endedBy, seconds } = await drive(run, { arrivals: arrivalsEvery(50, 8), settings, progress: quiet })
  expect({ endedBy, ...run.tally.counts() }).toMatchObject({ endedBy: 'itself', arrived: 8, placed: 8, shed: 0, errors: 0 })
  expect(invoice()?.maxMs).toBeGreaterThan(380)
  expect(invoice()?.p50Ms).toBeGreaterThan(150)
  expect(seconds.at(-1)).toMatchObject({ arrived: 8, placed: 8, inFlight: 0 })
})

test('what is due beyond the limit is shed, and never begun later', async () => {
  const gate = Promise.withResolvers<void>()
  const { run } = running(() => gate.promise.then(bought))
  void pause(200).then(gate.resolve)
  await drive(run, { arrivals: arrivalsEvery(5, 20), settings: { ...settings, maxInFlight: 3 }, progress: quiet })
  expect(run.tally.counts()).toMatchObject({ arrived: 20, placed: 3, shed: 17 })
})

test('a market that asks for a pause is left alone as long', async () => {
  let asked = 0
  const { run } = running(() => {
    if (asked++ === 0) return Promise.reject(new Trouble('throttled', 'the market asks for a pause', 150))
    return Promise.resolve(bought())
  })
  await drive(run, { arrivals: arrivalsEvery(10, 30), settings, progress: quiet })
  const { arrived, placed, held, throttles, errors } = run.tally.counts()
  expect({ arrived, throttles, errors }).toEqual({ arrived: 30, throttles: 1, errors: 0 })
  expect(placed + held).toBe(30)
  expect(held).toBeGreaterThan(5)
  expect(placed).toBeGreaterThan(5)
})

test('Ctrl-C ends it at once, the drain limit after a while', async () => {
  const never = (): Promise<Json> => new Promise(() => undefined)
  const limited = running(never)
  const drained = await drive(limited.run, {
    arrivals: arrivalsEvery(1, 2),
    settings: { ...settings, drainMs: 100 },
    progress: quiet,
  })
  expect(drained.endedBy).toBe('drain limit')
  const stopped = running(never)
  void pause(50).then(() => stopped.stop.abort())
  const ended = await drive(stopped.run, { arrivals: arrivalsEvery(1000, 60), settings, progress: quiet })
  expect(ended.endedBy).toBe('interrupt')
  expect(stopped.run.tally.arrived).toBe(1)
})

test('errors are counted by where they came from and what they were', async () => {
  const { run } = running(() => Promise.reject(new Trouble('HTTP 503', 'the service is starting')))
  await drive(run, { arrivals: arrivalsEvery(1, 3), settings, progress: quiet })
  expect(run.tally.errorCounts()).toEqual([
    { where: 'abandon: order', code: 'HTTP 503', count: 3, first: 'the service is starting' },
  ])
})

test('an order that nobody answered is in the latencies with its wait, and missing from what would have come', async () => {
  const stalling = [silence(TIMED_OUT, 300), silence(UNSENT, 200)]
  const { run, of } = selling(() => (stalling.shift() ?? (() => Promise.resolve(bought())))(), [])
  await drive(run, { arrivals: arrivalsEvery(5, 10, 'buy'), settings, progress: quiet })
  const invoice = of('invoice (buy)')
  expect(invoice).toMatchObject({ count: 10, timedOut: 1, unsent: 1, missing: 0 })
  expect(invoice?.maxMs).toBeGreaterThan(295)
  expect(run.tally.counts()).toMatchObject({ arrived: 10, placed: 8, errors: 2, unsent: 1 })
  for (const step of ['payment held', 'opening', 'settled'] as const) expect(of(step)).toMatchObject({ count: 8, missing: 2 })
})

test('what failed at once, was shed or was held back is missing: what came and what is missing is all that was due', async () => {
  const refusals = [
    new Trouble('HTTP 503', 'the service is starting'),
    new Trouble('throttled', 'the market asks for a pause', 150),
  ]
  const { run, of } = selling(() => {
    const refusal = refusals.shift()
    return refusal ? Promise.reject(refusal) : pause(60).then(bought)
  }, [])
  await drive(run, { arrivals: arrivalsEvery(10, 40, 'buy'), settings: { ...settings, maxInFlight: 3 }, progress: quiet })
  const { placed, shed, held } = run.tally.counts()
  expect(shed).toBeGreaterThan(0)
  expect(held).toBeGreaterThan(1)
  expect(1 + placed + shed + held).toBe(40)
  for (const step of ['invoice (buy)', 'payment held', 'opening', 'settled'] as const)
    expect(of(step)).toMatchObject({ count: placed, missing: 40 - placed, timedOut: 0, unsent: 0 })
  expect(of('page')).toMatchObject({ count: placed, missing: 0 })
})

test('an order that ended in another way is not missing from what it never reached', async () => {
  const { run, of } = selling(
    () => Promise.resolve(bought()),
    [
      () => Promise.resolve(standing('WAITING_FOR_CHANNEL_OPEN')),
      () => Promise.resolve(standing('SELLER_FAILED_TO_OPEN_CHANNEL')),
    ],
  )
  await drive(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: quiet })
  expect(of('payment held')).toMatchObject({ count: 1, missing: 0 })
  expect([of('opening'), of('settled')]).toEqual([undefined, undefined])
})

test('orders that are under way when the run ends are missing from what was still to come', async () => {
  const never = Array.from({ length: 100 }, () => () => Promise.resolve(standing('WAITING_FOR_CHANNEL_OPEN')))
  const { run, of } = selling(() => Promise.resolve(bought()), never)
  await drive(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings: { ...settings, drainMs: 100 }, progress: quiet })
  expect(of('payment held')).toMatchObject({ count: 1, missing: 0 })
  expect(of('settled')).toMatchObject({ count: 0, missing: 1, p99Ms: null })
})

test('beats that a pause left out are counted, and are missing from get_order', async () => {
  const pausing = () => Promise.reject(new Trouble('throttled', 'the market asks for a pause', 150))
  const { run, of, asked } = selling(() => Promise.resolve(bought()), [pausing])
  await drive(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: quiet })
  const { unasked, throttles, errors } = run.tally.counts()
  expect({ throttles, errors }).toEqual({ throttles: 1, errors: 0 })
  expect(asked).toHaveLength(2)
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(149)
  // The one that was answered with the pause, and those that were due within it.
  expect(unasked).toBeGreaterThanOrEqual(7)
  expect(of('get_order')?.missing).toBe(unasked)
})

test('a question that nobody answered is in the figures with the beats that it held back, and so is a page', async () => {
  const { run, of } = selling(() => Promise.resolve(bought()), [silence(TIMED_OUT, 110)])
  const page = () => Promise.reject(new Trouble(TIMED_OUT, 'nobody answered'))
  await drive({ ...run, market: { ...run.market, page } }, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: quiet })
  expect(of('page')).toMatchObject({ count: 1, timedOut: 1, missing: 0 })
  const asked = of('get_order')
  expect(asked?.maxMs).toBeGreaterThan(105)
  expect(asked?.timedOut).toBeGreaterThanOrEqual(5)
  expect(asked).toMatchObject({ count: (asked?.timedOut ?? 0) + 1, missing: 0 })
})

test('a question whose answer was an error, however late, is missing with the beats that it held back', async () => {
  const { run, of } = selling(() => Promise.resolve(bought()), [silence('HTTP 503', 110)])
  await drive(run, { arrivals: arrivalsEvery(1, 1, 'buy'), settings, progress: quiet })
  expect(run.tally.counts().errors).toBe(1)
  const asked = of('get_order')
  // None of them stands there as answered.
  expect(asked).toMatchObject({ count: 1, timedOut: 0 })
  expect(asked?.missing).toBeGreaterThanOrEqual(5)
})
