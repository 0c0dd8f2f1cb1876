import type { SecondSample } from '../orders/generator.ts'
import { type PercentileCurve, type LatencyStep, LATENCY_STEPS } from '../measurements/latency-meter.ts'
import { type LineChart, renderLineChart, type ChartPoint, type ChartSeries, type AxisTick } from './svg-charts.ts'
import type { LoadOutcome } from '../run-load.ts'

const formatMs = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)
const formatNumber = (value: number): string => value.toLocaleString('en')

/** The steps that time single requests. They have their own chart, because so many lines in one chart are unreadable. */
const REQUEST_STEPS: readonly LatencyStep[] = ['get_order', 'page', 'start lag', 'socket wait']

export const renderPercentileCharts = ({ curves }: LoadOutcome): readonly string[] => [
  renderPercentileChart(
    'Orders, from their due time',
    curves.filter(({ step }) => !REQUEST_STEPS.includes(step)),
  ),
  renderPercentileChart(
    'Requests, and delays of their start',
    curves.filter(({ step }) => REQUEST_STEPS.includes(step)),
  ),
]

/** On the x axis, as in HdrHistogram's plots, 90 %, 99 % and 99.9 % have equal distances. */
function renderPercentileChart(title: string, curves: readonly PercentileCurve[]): string {
  const series = curves.map(({ step, points }) => ({
    name: step,
    points: points.map(({ percentile, ms }): ChartPoint => [countNines(percentile), ms]),
  }))
  const maxX = Math.max(0, ...series.flatMap(({ points }) => points.map(([x]) => x)))
  const xTicks = PERCENTILES.map((percentile): AxisTick => ({ at: countNines(percentile), text: `${percentile}` }))
  const shownTicks = xTicks.filter((_, index) => index === 0 || (xTicks[index - 1]?.at ?? 0) < maxX)
  return renderLineChart({ title, series, xLabel: 'percentile', xTicks: shownTicks, y: formatMs, isLog: true })
}

const PERCENTILES = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999]
const countNines = (percentile: number): number => -Math.log10(Math.max(1e-9, 1 - percentile / 100))

/** Renders one chart per step, with its p50, p99 and maximum over time. */
export function renderLatencyCharts({ seconds }: LoadOutcome): readonly string[] {
  return LATENCY_STEPS.filter((step) => step !== 'start lag' && step !== 'socket wait')
    .map((step) => {
      const pointsOf = (pick: 'p50Ms' | 'p99Ms' | 'maxMs'): readonly ChartPoint[] =>
        seconds.flatMap(({ atMs, latencies }) => {
          const found = latencies[step]
          return found ? [[atMs / 1000, found[pick]] as const] : []
        })
      const series = [
        { name: 'p50', points: pointsOf('p50Ms') },
        { name: 'p99', points: pointsOf('p99Ms') },
        { name: 'max', points: pointsOf('maxMs') },
      ]
      return renderTimeChart(step, series, { y: formatMs, isLog: true })
    })
    .filter((chart) => chart !== '')
}

export const renderRateChart = ({ seconds }: LoadOutcome): string =>
  renderTimeChart('Orders per second', [
    { name: 'due', points: computeRates(seconds, ({ arrived }) => arrived) },
    { name: 'placed', points: computeRates(seconds, ({ placed }) => placed) },
    { name: 'shed or held back', points: computeRates(seconds, ({ shed, held }) => shed + held) },
  ])

export const renderRequestChart = ({ seconds }: LoadOutcome): string =>
  renderTimeChart('Requests and errors per second', [
    { name: 'requests', points: computeRates(seconds, ({ requests }) => requests) },
    { name: 'errors', points: computeRates(seconds, ({ errors }) => errors) },
    { name: 'requested pauses', points: computeRates(seconds, ({ throttles }) => throttles) },
    { name: 'polls held back', points: computeRates(seconds, ({ unasked }) => unasked) },
  ])

export const renderInFlightChart = ({ seconds }: LoadOutcome): string =>
  renderTimeChart('Orders in flight', [
    { name: 'in flight', points: seconds.map(({ atMs, inFlight }) => [atMs / 1000, inFlight]) },
  ])

const MAX_STATUSES = 6

/** Shows the most frequent statuses, because more lines than colours are unreadable. */
export function renderStatusChart({ seconds }: LoadOutcome): string {
  const peaks = new Map<string, number>()
  for (const { statuses } of seconds)
    for (const [status, count] of statuses) peaks.set(status, Math.max(count, peaks.get(status) ?? 0))
  const shown = [...peaks].toSorted((a, b) => b[1] - a[1]).slice(0, MAX_STATUSES)
  const series = shown.map(([name]) => ({
    name,
    points: seconds.map(({ atMs, statuses }): ChartPoint => [atMs / 1000, statuses.get(name) ?? 0]),
  }))
  return renderTimeChart('Orders by status over time', series)
}

const renderTimeChart = (
  title: string,
  series: readonly ChartSeries[],
  options: Partial<Pick<LineChart, 'y' | 'isLog'>> = {},
): string => renderLineChart({ title, series, xLabel: 'seconds since the beginning', y: formatNumber, ...options })

/** Shorter intervals are skipped, because the last second of a run is incomplete, and its rate would look like a drop. */
const MIN_INTERVAL_MS = 800

function computeRates(seconds: readonly SecondSample[], count: (second: SecondSample) => number): readonly ChartPoint[] {
  return seconds.flatMap((second, index) => {
    const previous = seconds[index - 1]
    const intervalMs = second.atMs - (previous?.atMs ?? 0)
    if (intervalMs < MIN_INTERVAL_MS) return []
    return [[second.atMs / 1000, ((count(second) - (previous ? count(previous) : 0)) * 1000) / intervalMs] as const]
  })
}
