import { escaped } from './html.ts'

export type Point = readonly [x: number, y: number]
export type Series = { readonly name: string; readonly points: readonly Point[] }
export type Tick = { readonly at: number; readonly text: string }

export type LineChart = {
  readonly title: string
  readonly series: readonly Series[]
  readonly xLabel: string
  readonly xTicks?: readonly Tick[]
  /** How a value is written on the y axis. */
  readonly y: (value: number) => string
  readonly isLog?: boolean
}

const [WIDTH, HEIGHT] = [560, 220]
const [LEFT, RIGHT, TOP, BOTTOM] = [62, 26, 10, 36]
const COLOURS = 6

/** Lines over a common x, as inline SVG with its legend. What has no points is left out. */
export function lineChart(chart: LineChart): string {
  const series = chart.series.filter(({ points }) => points.length > 0)
  if (series.length === 0) return ''
  const all = series.flatMap(({ points }) => points)
  const xLast = most(all.map(([x]) => x))
  const xTicks = chart.xTicks ?? evenTicks(0, xLast, (value) => `${value}`).filter(({ at }) => at <= xLast)
  const xMost = Math.max(xLast, ...xTicks.map(({ at }) => at), Number.MIN_VALUE)
  const yTicks = chart.isLog === true ? decades(all, chart.y) : evenTicks(0, most(all.map(([, y]) => y)), chart.y)
  const [yLeast, yMost] = [yTicks[0]?.at ?? 0, yTicks.at(-1)?.at ?? 1]
  const x = (value: number): number => LEFT + (value / xMost) * (WIDTH - LEFT - RIGHT)
  const up = chart.isLog === true ? (value: number) => Math.log10(Math.max(value, yLeast)) : (value: number) => value
  const y = (value: number): number =>
    HEIGHT - BOTTOM - ((up(value) - up(yLeast)) / (up(yMost) - up(yLeast) || 1)) * (HEIGHT - TOP - BOTTOM)
  const lines = series.map(({ name, points }, index) =>
    line(
      name,
      points.map(([px, py]) => [x(px), y(py)] as const),
      index,
    ),
  )
  const parts = [
    ...yTicks.map(({ at, text }) => gridLine(y(at), text)),
    ...xTicks.map(
      ({ at, text }) => `<text x="${fixed(x(at))}" y="${HEIGHT - BOTTOM + 14}" text-anchor="middle">${escaped(text)}</text>`,
    ),
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - 4}" text-anchor="end">${escaped(chart.xLabel)}</text>`,
    ...lines,
  ]
  return figure(chart.title, series, parts)
}

function figure(title: string, series: readonly Series[], parts: readonly string[]): string {
  const legend = series.map(({ name }, index) => `<li><i class="c${index % COLOURS}"></i>${escaped(name)}</li>`)
  const names = series.length > 1 ? `<ul>${legend.join('')}</ul>` : ''
  return `<figure><figcaption>${escaped(title)}</figcaption>${names}
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">${parts.join('\n')}</svg></figure>`
}

const gridLine = (y: number, text: string): string =>
  `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${fixed(y)}" y2="${fixed(y)}"/>` +
  `<text x="${LEFT - 6}" y="${fixed(y + 3.5)}" text-anchor="end">${escaped(text)}</text>`

/** A single point is a dot: a line of one has no length. */
function line(name: string, points: readonly Point[], index: number): string {
  const colour = `c${index % COLOURS}`
  const title = `<title>${escaped(name)}</title>`
  const [first] = points
  if (first && points.length === 1)
    return `<circle class="${colour}" cx="${fixed(first[0])}" cy="${fixed(first[1])}" r="2.5">${title}</circle>`
  const path = points.map(([x, y]) => `${fixed(x)},${fixed(y)}`).join(' ')
  return `<polyline class="${colour}" points="${path}">${title}</polyline>`
}

export type Bar = { readonly name: string; readonly value: number; readonly isBad?: boolean }

/** Counts beside each other, longest first as they come. */
export function barChart(title: string, bars: readonly Bar[]): string {
  if (bars.length === 0) return ''
  const longest = most(bars.map(({ value }) => value))
  const rows = bars.map(
    ({ name, value, isBad }) =>
      `<div class="bar"><span>${escaped(name)}</span><span class="track"><b class="${isBad === true ? 'bad' : ''}" style="width:${fixed((value / longest) * 100)}%"></b></span><span>${value}</span></div>`,
  )
  return `<figure><figcaption>${escaped(title)}</figcaption>${rows.join('\n')}</figure>`
}

const fixed = (value: number): string => value.toFixed(1)
/** Not by spreading, which has an end. */
const most = (values: readonly number[]): number => values.reduce((highest, value) => Math.max(highest, value), 0)

const STEPS = [1, 2, 5, 10]

/** Some four round numbers from the least to beyond the most. */
function evenTicks(least: number, highest: number, text: (value: number) => string): readonly Tick[] {
  const rough = Math.max(highest - least, Number.MIN_VALUE) / 4
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const step = (STEPS.find((one) => one * magnitude >= rough) ?? 10) * magnitude
  const count = Math.max(1, Math.ceil((highest - least) / step))
  return Array.from({ length: count + 1 }, (_, index) => ({
    at: least + index * step,
    text: text(Number((least + index * step).toPrecision(6))),
  }))
}

/** The powers of ten around all values. */
function decades(points: readonly Point[], text: (value: number) => string): readonly Tick[] {
  const values = points.map(([, y]) => y).filter((value) => value > 0)
  const lowest = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY)
  const first = Math.floor(Math.log10(Number.isFinite(lowest) ? lowest : 1))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(most(values), 10 ** first))))
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    at: 10 ** (first + index),
    text: text(10 ** (first + index)),
  }))
}
