import type { Second } from './drive.ts'
import { type Curve, type Step, STEPS } from './meter.ts'
import { type LineChart, lineChart, type Point, type Series, type Tick } from './plot.ts'
import type { Outcome } from './run.ts'

const asTime = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)
const plain = (value: number): string => value.toLocaleString('en')

/** What an order is timed by, and what is timed for itself: apart, since nobody tells ten lines from each other. */
const REQUESTS: readonly Step[] = ['get_order', 'page', 'start lag', 'socket wait']

export const percentileCharts = ({ curves }: Outcome): readonly string[] => [
  percentileChart(
    'Orders, since they were due',
    curves.filter(({ step }) => !REQUESTS.includes(step)),
  ),
  percentileChart(
    'Requests, and how late they began',
    curves.filter(({ step }) => REQUESTS.includes(step)),
  ),
]

/** HdrHistogram's own curve: each step to the right leaves a tenth as many slower ones. */
function percentileChart(title: string, curves: readonly Curve[]): string {
  const series = curves.map(({ step, points }) => ({
    name: step,
    points: points.map(({ percentile, ms }): Point => [nines(percentile), ms]),
  }))
  const farthest = Math.max(0, ...series.flatMap(({ points }) => points.map(([x]) => x)))
  const xTicks = PERCENTILES.map((percentile): Tick => ({ at: nines(percentile), text: `${percentile}` }))
  const seen = xTicks.filter((_, index) => index === 0 || (xTicks[index - 1]?.at ?? 0) < farthest)
  return lineChart({ title, series, xLabel: 'percentile', xTicks: seen, y: asTime, isLog: true })
}

const PERCENTILES = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999]
const nines = (percentile: number): number => -Math.log10(Math.max(1e-9, 1 - percentile / 100))

/** One chart for each step, all read alike. */
export function latencyCharts({ seconds }: Outcome): readonly string[] {
  return STEPS.filter((step) => step !== 'start lag' && step !== 'socket wait')
    .map((step) => {
      const of = (pick: 'p50Ms' | 'p99Ms' | 'maxMs'): readonly Point[] =>
        seconds.flatMap(({ atMs, slice }) => {
          const found = slice[step]
          return found ? [[atMs / 1000, found[pick]] as const] : []
        })
      const series = [
        { name: 'p50', points: of('p50Ms') },
        { name: 'p99', points: of('p99Ms') },
        { name: 'max', points: of('maxMs') },
      ]
      return overTime(step, series, { y: asTime, isLog: true })
    })
    .filter((chart) => chart !== '')
}

export const rateChart = ({ seconds }: Outcome): string =>
  overTime('Orders per second', [
    { name: 'due', points: perSecond(seconds, ({ arrived }) => arrived) },
    { name: 'placed', points: perSecond(seconds, ({ placed }) => placed) },
    { name: 'shed or held back', points: perSecond(seconds, ({ shed, held }) => shed + held) },
  ])

export const requestChart = ({ seconds }: Outcome): string =>
  overTime('Requests and errors per second', [
    { name: 'requests', points: perSecond(seconds, ({ requests }) => requests) },
    { name: 'errors', points: perSecond(seconds, ({ errors }) => errors) },
    { name: 'asked to pause', points: perSecond(seconds, ({ throttles }) => throttles) },
    { name: 'beats held back', points: perSecond(seconds, ({ unasked }) => unasked) },
  ])

export const flightChart = ({ seconds }: Outcome): string =>
  overTime('Orders in flight', [{ name: 'in flight', points: seconds.map(({ atMs, inFlight }) => [atMs / 1000, inFlight]) }])

const MOST_STATUSES = 6

/** The statuses that most orders were in, since more lines than colours tell nothing. */
export function statusChart({ seconds }: Outcome): string {
  const peaks = new Map<string, number>()
  for (const { statuses } of seconds)
    for (const [status, count] of statuses) peaks.set(status, Math.max(count, peaks.get(status) ?? 0))
  const shown = [...peaks].toSorted((a, b) => b[1] - a[1]).slice(0, MOST_STATUSES)
  const series = shown.map(([name]) => ({
    name,
    points: seconds.map(({ atMs, statuses }): Point => [atMs / 1000, statuses.get(name) ?? 0]),
  }))
  return overTime('Orders by status over time', series)
}

const overTime = (title: string, series: readonly Series[], how: Partial<Pick<LineChart, 'y' | 'isLog'>> = {}): string =>
  lineChart({ title, series, xLabel: 'seconds since the beginning', y: plain, ...how })

/** A run ends within a second, and a part of one would look like a fall. */
const WHOLE_MS = 800

function perSecond(seconds: readonly Second[], count: (second: Second) => number): readonly Point[] {
  return seconds.flatMap((second, index) => {
    const before = seconds[index - 1]
    const overMs = second.atMs - (before?.atMs ?? 0)
    if (overMs < WHOLE_MS) return []
    return [[second.atMs / 1000, ((count(second) - (before ? count(before) : 0)) * 1000) / overMs] as const]
  })
}
