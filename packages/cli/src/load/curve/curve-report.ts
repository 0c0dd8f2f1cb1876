import { escapeHtml, renderHtmlPage, renderHtmlTable } from '../report/html.ts'
import { type AxisTick, type ChartPoint, renderLineChart } from '../report/svg-charts.ts'
import {
  type CurveReport,
  type CurveRow,
  listCurveFailures,
  listCurveNotes,
  listPointRows,
  listSearchRows,
} from './curve-format.ts'
import type { CurveLoad } from './curve-load.ts'
import type { CurvePoint } from './measure-curve.ts'
import type { Recovery } from './recovery.ts'

/** Renders the curve as one page without scripts and other resources, like the report of a load. */
export function renderCurveReport(report: CurveReport): string {
  const { url, startedAt, search, points, recovery } = report
  const failures = listCurveFailures(report)
  const verdict =
    failures.length === 0
      ? '<p class="verdict good">No paid order was lost, and no check failed.</p>'
      : failures.map((text) => `<p class="verdict bad">${escapeHtml(text)}</p>`).join('')
  const notes = listCurveNotes(report).map((note) => `<p>${escapeHtml(note)}</p>`)
  const charts = [...renderPointCharts(points), recovery ? renderRecoveryChart(recovery) : '', renderSearchChart(search.loads)]
  const body = `<h1>Load curve of ${escapeHtml(url)}</h1>
<p class="dim">Started at ${escapeHtml(startedAt)}; seed ${report.settings.seed}.</p>${verdict}
<p>Capacity: ${search.capacityPerSecond.toFixed(2)} sold channels per second.</p>${notes.join('')}
<section><h2>Curve</h2><div class="grid2">${charts.join('\n')}</div></section>
<section><h2>Loads at multiples of the capacity</h2>${renderRows(listPointRows(report))}</section>
<section><h2>Search of the capacity</h2>${renderRows(listSearchRows(report))}</section>`
  return renderHtmlPage('Penstock load curve', body)
}

const formatMs = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)
const formatNumber = (value: number): string => value.toLocaleString('en')

/** Draws against the factor, so that charts of different markets can be compared. */
function renderPointCharts(points: readonly CurvePoint[]): readonly string[] {
  const xLabel = 'times the capacity'
  const xTicks = points.map(({ factor }): AxisTick => ({ at: factor, text: `${factor}` }))
  const pick = (value: (point: CurvePoint) => number | null): readonly ChartPoint[] =>
    points.flatMap((point) => {
      const y = value(point)
      return y === null ? [] : [[point.factor, y] as const]
    })
  return [
    renderLineChart({
      title: 'Orders per second',
      series: [
        { name: 'due', points: pick(({ perSecond }) => perSecond) },
        { name: 'sold', points: pick(({ goodput }) => goodput) },
        { name: 'refused', points: pick(({ perSecond, refused, due }) => (perSecond * refused) / Math.max(1, due)) },
      ],
      xLabel,
      xTicks,
      y: formatNumber,
    }),
    renderLineChart({
      title: 'Time to the invoice of buy',
      series: [
        { name: 'p50', points: pick(({ buyP50Ms }) => buyP50Ms) },
        { name: 'p99', points: pick(({ buyP99Ms }) => buyP99Ms) },
      ],
      xLabel,
      xTicks,
      y: formatMs,
      isLog: true,
    }),
    renderLineChart({
      title: 'Paid orders lost',
      series: [{ name: 'lost', points: pick(({ lost }) => lost) }],
      xLabel,
      xTicks,
      y: formatNumber,
    }),
  ]
}

function renderRecoveryChart({ purchases, limitMs }: Recovery): string {
  const lastSeconds = (purchases.at(-1)?.atMs ?? 0) / 1000
  const points = purchases.flatMap(({ atMs, ms }) => (typeof ms === 'number' ? [[atMs / 1000, ms] as const] : []))
  const limit: readonly ChartPoint[] = [
    [0, limitMs],
    [lastSeconds, limitMs],
  ]
  return renderLineChart({
    title: 'Time to the invoice after the overload',
    series: [
      { name: 'one purchase per second', points },
      { name: 'limit of a normal purchase', points: limit },
    ],
    xLabel: 'seconds since the overload',
    y: formatMs,
    isLog: true,
  })
}

const renderSearchChart = (loads: readonly CurveLoad[]): string =>
  renderLineChart({
    title: 'Sold per second in the search of the capacity',
    series: [{ name: 'sold', points: loads.map(({ perSecond, goodput }): ChartPoint => [perSecond, goodput]) }],
    xLabel: 'orders per second',
    y: formatNumber,
  })

function renderRows(rows: readonly CurveRow[]): string {
  const head = Object.keys(rows[0] ?? {})
  const cells = rows.map((row) => head.map((name) => `${row[name] ?? '-'}`))
  return renderHtmlTable(
    head.map((name) => name.replaceAll('_', ' ')),
    cells,
    0,
  )
}
