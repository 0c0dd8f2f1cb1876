import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { Silence } from './trouble.ts'

/** What is timed. All but the last four run from the moment at which the order was to begin. */
export const STEPS = [
  'invoice (buy)',
  'invoice (lsps1)',
  'invoice (manual)',
  'payment held',
  'opening',
  'settled',
  'get_order',
  'page',
  'start lag',
  'socket wait',
] as const
export type Step = (typeof STEPS)[number]

/** The milliseconds are null where nothing was recorded. */
export type Latency = {
  readonly step: Step
  readonly count: number
  /** Of `count`: no answer came, so that it is the time that was waited for one. */
  readonly timedOut: number
  /** Of `count`: the request never left, so that it is the time that was waited for a connection. */
  readonly unsent: number
  /** Expected beside `count`, and in no figure. */
  readonly missing: number
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
  readonly maxMs: number | null
}
/** The percentile curve as HdrHistogram draws it: ever closer to all. */
export type Curve = { readonly step: Step; readonly points: readonly { readonly percentile: number; readonly ms: number }[] }
/** What was recorded within one interval. */
export type Slice = Partial<
  Record<Step, { readonly count: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }>
>

export type Meter = {
  /** One value of the step is to come. */
  expect(step: Step): void
  /** One that was expected never comes, for good reason. */
  waive(step: Step): void
  /** @param silence no answer came, so that the value is the least that it would have been */
  record(step: Step, ms: number, silence?: Silence): void
  /** @returns what came since the last call */
  slice(): Slice
  latencies(): readonly Latency[]
  curves(): readonly Curve[]
}

// Microseconds: a poll that takes half a millisecond is told from one that takes one.
const HIGHEST = 24 * 3600 * 1_000_000
const FIGURES = 3
const SLICE_FIGURES = 2

/** Node's own HdrHistogram (docs/decisions/0009): every value is kept to one part in a thousand, however many there are. */
export const histogram = (figures: number = FIGURES): RecordableHistogram =>
  createHistogram({ lowest: 1, highest: HIGHEST, figures })

export const recordMs = (into: RecordableHistogram, ms: number): void =>
  into.record(Math.min(HIGHEST, Math.max(1, Math.round(ms * 1000))))

export const msAt = (from: RecordableHistogram, percentile: number): number => from.percentile(percentile) / 1000

type Tallied = Record<Silence, number> & { expected: number }
const untouched: Readonly<Tallied> = { expected: 0, timedOut: 0, unsent: 0 }

export function openMeter(): Meter {
  const tallied = new Map<Step, Tallied>()
  const add = (step: Step, what: keyof Tallied, count: number): void => {
    const found = tallied.get(step) ?? { ...untouched }
    found[what] += count
    tallied.set(step, found)
  }
  const whole = new Map<Step, RecordableHistogram>()
  const now = new Map<Step, RecordableHistogram>()
  const of = (map: Map<Step, RecordableHistogram>, step: Step, figures: number): RecordableHistogram => {
    const found = map.get(step) ?? histogram(figures)
    map.set(step, found)
    return found
  }
  const used = (map: Map<Step, RecordableHistogram>) =>
    STEPS.flatMap((step) => {
      const found = map.get(step)
      return found && found.count > 0 ? [{ step, found }] : []
    })
  return {
    expect: (step) => add(step, 'expected', 1),
    waive: (step) => add(step, 'expected', -1),
    record(step, ms, silence) {
      if (silence) add(step, silence, 1)
      recordMs(of(whole, step, FIGURES), ms)
      recordMs(of(now, step, SLICE_FIGURES), ms)
    },
    slice() {
      const slice: Slice = {}
      for (const { step, found } of used(now)) {
        slice[step] = { count: found.count, p50Ms: msAt(found, 50), p99Ms: msAt(found, 99), maxMs: found.max / 1000 }
        found.reset()
      }
      return slice
    },
    latencies: () =>
      STEPS.map((step) => {
        const found = whole.get(step)
        const { expected, ...silences } = tallied.get(step) ?? untouched
        const count = found?.count ?? 0
        return { step, count, ...silences, missing: Math.max(0, expected - count), ...percentilesOf(found) }
      }).filter(({ count, missing }) => count + missing > 0),
    curves: () => used(whole).map(({ step, found }) => ({ step, points: curveOf(found) })),
  }
}

const percentilesOf = (found: RecordableHistogram | undefined) => ({
  p50Ms: found ? msAt(found, 50) : null,
  p90Ms: found ? msAt(found, 90) : null,
  p99Ms: found ? msAt(found, 99) : null,
  p999Ms: found ? msAt(found, 99.9) : null,
  maxMs: found ? found.max / 1000 : null,
})

/** Half of what is left, five times in each half, until no recorded value is left. */
function curveOf(found: RecordableHistogram): Curve['points'] {
  const points: { percentile: number; ms: number }[] = []
  for (let part = 0; ; part++) {
    const left = 2 ** (-part / 5)
    if (left * found.count < 1) break
    const percentile = (1 - left) * 100
    points.push({ percentile, ms: msAt(found, Math.max(percentile, Number.MIN_VALUE)) })
  }
  return points
}
