import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { UnansweredReason } from '../market/request-error.ts'

/** The timed steps. All but the last four are measured from the moment at which the order was due. */
export const LATENCY_STEPS = [
  'invoice (buy)',
  'invoice (lsps1)',
  'invoice (manual)',
  'payment held',
  'opening',
  'settled',
  'refused',
  'get_order',
  'page',
  'start lag',
  'socket wait',
] as const
export type LatencyStep = (typeof LATENCY_STEPS)[number]

/** The milliseconds are null if no value was recorded. */
export type StepLatency = {
  readonly step: LatencyStep
  readonly count: number
  /** The part of `count` without an answer. The value is the time waited, which is a lower bound. */
  readonly timedOut: number
  /** The part of `count` whose request was never sent. The value is the wait for a connection. */
  readonly unsent: number
  /** Expected values that were not recorded. Neither `count` nor the percentiles include them. */
  readonly missing: number
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
  readonly maxMs: number | null
}
/** The percentile curve as HdrHistogram draws it: its points approach 100 %. */
export type PercentileCurve = {
  readonly step: LatencyStep
  readonly points: readonly { readonly percentile: number; readonly ms: number }[]
}
/** The latencies that were recorded within one interval. */
export type IntervalLatencies = Partial<
  Record<LatencyStep, { readonly count: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }>
>

export type LatencyMeter = {
  /** Expects one more value of the step. */
  expect(step: LatencyStep): void
  /** Withdraws one expected value, because the order ended before this step. */
  waive(step: LatencyStep): void
  /** @param unansweredReason given if no answer came: the value is then a lower bound */
  record(step: LatencyStep, ms: number, unansweredReason?: UnansweredReason): void
  /** @returns the values since the last call */
  takeInterval(): IntervalLatencies
  latencies(): readonly StepLatency[]
  curves(): readonly PercentileCurve[]
}

// The histograms store whole microseconds, because many polls take about a millisecond.
const MAX_MICROSECONDS = 24 * 3600 * 1_000_000
const SIGNIFICANT_DIGITS = 3
const INTERVAL_DIGITS = 2

/** Node's own HdrHistogram (docs/decisions/0009). With three significant digits it stores any number of values to 0.1 %. */
export const createLatencyHistogram = (figures: number = SIGNIFICANT_DIGITS): RecordableHistogram =>
  createHistogram({ lowest: 1, highest: MAX_MICROSECONDS, figures })

export const recordMs = (into: RecordableHistogram, ms: number): void =>
  into.record(Math.min(MAX_MICROSECONDS, Math.max(1, Math.round(ms * 1000))))

export const readPercentileMs = (from: RecordableHistogram, percentile: number): number => from.percentile(percentile) / 1000

type StepCounts = Record<UnansweredReason, number> & { expected: number }
const NO_COUNTS: Readonly<StepCounts> = { expected: 0, timedOut: 0, unsent: 0 }

export function createLatencyMeter(): LatencyMeter {
  const countsByStep = new Map<LatencyStep, StepCounts>()
  const add = (step: LatencyStep, counter: keyof StepCounts, count: number): void => {
    const found = countsByStep.get(step) ?? { ...NO_COUNTS }
    found[counter] += count
    countsByStep.set(step, found)
  }
  const overall = new Map<LatencyStep, RecordableHistogram>()
  const interval = new Map<LatencyStep, RecordableHistogram>()
  const getHistogram = (map: Map<LatencyStep, RecordableHistogram>, step: LatencyStep, figures: number): RecordableHistogram => {
    const found = map.get(step) ?? createLatencyHistogram(figures)
    map.set(step, found)
    return found
  }
  const listRecorded = (map: Map<LatencyStep, RecordableHistogram>) =>
    LATENCY_STEPS.flatMap((step) => {
      const found = map.get(step)
      return found && found.count > 0 ? [{ step, found }] : []
    })
  return {
    expect: (step) => add(step, 'expected', 1),
    waive: (step) => add(step, 'expected', -1),
    record(step, ms, unansweredReason) {
      if (unansweredReason) add(step, unansweredReason, 1)
      recordMs(getHistogram(overall, step, SIGNIFICANT_DIGITS), ms)
      recordMs(getHistogram(interval, step, INTERVAL_DIGITS), ms)
    },
    takeInterval() {
      const slice: IntervalLatencies = {}
      for (const { step, found } of listRecorded(interval)) {
        slice[step] = {
          count: found.count,
          p50Ms: readPercentileMs(found, 50),
          p99Ms: readPercentileMs(found, 99),
          maxMs: found.max / 1000,
        }
        found.reset()
      }
      return slice
    },
    latencies: () =>
      LATENCY_STEPS.map((step) => {
        const found = overall.get(step)
        const { expected, ...unanswered } = countsByStep.get(step) ?? NO_COUNTS
        const count = found?.count ?? 0
        return { step, count, ...unanswered, missing: Math.max(0, expected - count), ...computePercentiles(found) }
      }).filter(({ count, missing }) => count + missing > 0),
    curves: () => listRecorded(overall).map(({ step, found }) => ({ step, points: computeCurve(found) })),
  }
}

const computePercentiles = (found: RecordableHistogram | undefined) => ({
  p50Ms: found ? readPercentileMs(found, 50) : null,
  p90Ms: found ? readPercentileMs(found, 90) : null,
  p99Ms: found ? readPercentileMs(found, 99) : null,
  p999Ms: found ? readPercentileMs(found, 99.9) : null,
  maxMs: found ? found.max / 1000 : null,
})

/** Halves the share above the percentile every five points, until that share has no recorded value. */
function computeCurve(found: RecordableHistogram): PercentileCurve['points'] {
  const points: { percentile: number; ms: number }[] = []
  for (let part = 0; ; part++) {
    const left = 2 ** (-part / 5)
    if (left * found.count < 1) break
    const percentile = (1 - left) * 100
    points.push({ percentile, ms: readPercentileMs(found, Math.max(percentile, Number.MIN_VALUE)) })
  }
  return points
}
