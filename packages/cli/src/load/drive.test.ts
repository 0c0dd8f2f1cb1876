import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { drive } from './drive.ts'
import type { Market } from './market.ts'
import { openMeter } from './meter.ts'
import type { LoadOrder } from './order.ts'
import type { Arrival } from './schedule.ts'
import { openTally } from './tally.ts'
import { Trouble } from './trouble.ts'

const arrivalsEvery = (everyMs: number, count: number): readonly Arrival[] =>
  Array.from({ length: count }, (_, index) => ({ atMs: index * everyMs, kind: 'abandon', buyer: 0, isPrivate: false }))

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
  return { run, stop, invoice: () => run.meter.latencies().find(({ step }) => step === 'invoice (buy)') }
}
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
