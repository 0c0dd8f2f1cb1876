import { escapeHtml } from './html.ts'

export type ChartPoint = readonly [x: number, y: number]
export type ChartSeries = { readonly name: string; readonly points: readonly ChartPoint[] }
export type AxisTick = { readonly at: number; readonly text: string }

export type LineChart = {
  readonly title: string
  readonly series: readonly ChartSeries[]
  readonly xLabel: string
  readonly xTicks?: readonly AxisTick[]
  /** Formats a value for the y axis. */
  readonly y: (value: number) => string
  readonly isLog?: boolean
}

const [WIDTH, HEIGHT] = [560, 220]
const [LEFT, RIGHT, TOP, BOTTOM] = [62, 26, 10, 36]
const COLOURS = 6

/** Renders lines over a common x axis, as inline SVG with a legend. Series without points are omitted. */
export function renderLineChart(chart: LineChart): string {
  const series = chart.series.filter(({ points }) => points.length > 0)
  if (series.length === 0) return ''
  const all = series.flatMap(({ points }) => points)
  const xLast = findMax(all.map(([x]) => x))
  const xTicks = chart.xTicks ?? createEvenTicks(0, xLast, (value) => `${value}`).filter(({ at }) => at <= xLast)
  const xMax = Math.max(xLast, ...xTicks.map(({ at }) => at), Number.MIN_VALUE)
  const yTicks =
    chart.isLog === true ? createDecadeTicks(all, chart.y) : createEvenTicks(0, findMax(all.map(([, y]) => y)), chart.y)
  const [yMin, yMax] = [yTicks[0]?.at ?? 0, yTicks.at(-1)?.at ?? 1]
  const x = (value: number): number => LEFT + (value / xMax) * (WIDTH - LEFT - RIGHT)
  const toScale = chart.isLog === true ? (value: number) => Math.log10(Math.max(value, yMin)) : (value: number) => value
  const y = (value: number): number =>
    HEIGHT - BOTTOM - ((toScale(value) - toScale(yMin)) / (toScale(yMax) - toScale(yMin) || 1)) * (HEIGHT - TOP - BOTTOM)
  const lines = series.map(({ name, points }, index) =>
    renderLine(
      name,
      points.map(([px, py]) => [x(px), y(py)] as const),
      index,
    ),
  )
  const parts = [
    ...yTicks.map(({ at, text }) => renderGridLine(y(at), text)),
    ...xTicks.map(
      ({ at, text }) =>
        `<text x="${formatCoordinate(x(at))}" y="${HEIGHT - BOTTOM + 14}" text-anchor="middle">${escapeHtml(text)}</text>`,
    ),
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - 4}" text-anchor="end">${escapeHtml(chart.xLabel)}</text>`,
    ...lines,
  ]
  return renderFigure(chart.title, series, parts)
}

function renderFigure(title: string, series: readonly ChartSeries[], parts: readonly string[]): string {
  const legend = series.map(({ name }, index) => `<li><i class="c${index % COLOURS}"></i>${escapeHtml(name)}</li>`)
  const names = series.length > 1 ? `<ul>${legend.join('')}</ul>` : ''
  return `<figure><figcaption>${escapeHtml(title)}</figcaption>${names}
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">${parts.join('\n')}</svg></figure>`
}

const renderGridLine = (y: number, text: string): string =>
  `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${formatCoordinate(y)}" y2="${formatCoordinate(y)}"/>` +
  `<text x="${LEFT - 6}" y="${formatCoordinate(y + 3.5)}" text-anchor="end">${escapeHtml(text)}</text>`

/** Renders a single point as a dot, because a line of one point is invisible. */
function renderLine(name: string, points: readonly ChartPoint[], index: number): string {
  const colour = `c${index % COLOURS}`
  const title = `<title>${escapeHtml(name)}</title>`
  const [first] = points
  if (first && points.length === 1)
    return `<circle class="${colour}" cx="${formatCoordinate(first[0])}" cy="${formatCoordinate(first[1])}" r="2.5">${title}</circle>`
  const path = points.map(([x, y]) => `${formatCoordinate(x)},${formatCoordinate(y)}`).join(' ')
  return `<polyline class="${colour}" points="${path}">${title}</polyline>`
}

export type Bar = { readonly name: string; readonly value: number; readonly isBad?: boolean }

/** Renders counts as horizontal bars, in the given order. */
export function renderBarChart(title: string, bars: readonly Bar[]): string {
  if (bars.length === 0) return ''
  const longest = findMax(bars.map(({ value }) => value))
  const rows = bars.map(
    ({ name, value, isBad }) =>
      `<div class="bar"><span>${escapeHtml(name)}</span><span class="track"><b class="${isBad === true ? 'bad' : ''}" style="width:${formatCoordinate((value / longest) * 100)}%"></b></span><span>${value}</span></div>`,
  )
  return `<figure><figcaption>${escapeHtml(title)}</figcaption>${rows.join('\n')}</figure>`
}

const formatCoordinate = (value: number): string => value.toFixed(1)
/** Does not spread the values into Math.max, because the number of arguments is limited. */
const findMax = (values: readonly number[]): number => values.reduce((highest, value) => Math.max(highest, value), 0)

const TICK_STEPS = [1, 2, 5, 10]

/** About four round numbers, from the lowest value to at least the highest. */
function createEvenTicks(least: number, highest: number, text: (value: number) => string): readonly AxisTick[] {
  // Without a positive value, the axis ends at 1.
  const span = highest > least ? highest - least : 1
  const rough = span / 4
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const step = (TICK_STEPS.find((one) => one * magnitude >= rough) ?? 10) * magnitude
  const count = Math.max(1, Math.ceil(span / step))
  return Array.from({ length: count + 1 }, (_, index) => ({
    at: least + index * step,
    text: text(Number((least + index * step).toPrecision(6))),
  }))
}

/** The powers of ten around all values. */
function createDecadeTicks(points: readonly ChartPoint[], text: (value: number) => string): readonly AxisTick[] {
  const values = points.map(([, y]) => y).filter((value) => value > 0)
  const lowest = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY)
  const first = Math.floor(Math.log10(Number.isFinite(lowest) ? lowest : 1))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(findMax(values), 10 ** first))))
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    at: 10 ** (first + index),
    text: text(10 ** (first + index)),
  }))
}
