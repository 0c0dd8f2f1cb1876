import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'

/** What is timed. All but the last three run from the moment at which the order was to begin. */
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
] as const
export type Step = (typeof STEPS)[number]

export type Latency = {
  readonly step: Step
  readonly count: number
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
}
/** The percentile curve as HdrHistogram draws it: ever closer to all. */
export type Curve = { readonly step: Step; readonly points: readonly { readonly percentile: number; readonly ms: number }[] }
/** What was recorded within one interval. */
export type Slice = Partial<
  Record<Step, { readonly count: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }>
>

export type Meter = {
  record(step: Step, ms: number): void
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

export function openMeter(): Meter {
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
    record(step, ms) {
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
      used(whole).map(({ step, found }) => ({
        step,
        count: found.count,
        p50Ms: msAt(found, 50),
        p90Ms: msAt(found, 90),
        p99Ms: msAt(found, 99),
        p999Ms: msAt(found, 99.9),
        maxMs: found.max / 1000,
      })),
    curves: () => used(whole).map(({ step, found }) => ({ step, points: curveOf(found) })),
  }
}

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
