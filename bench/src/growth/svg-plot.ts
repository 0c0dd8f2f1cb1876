/** A line through points (x, y). */
export type PlotSeries = { readonly name: string; readonly points: readonly (readonly [number, number])[] }
export type PlotPanel = { readonly title: string; readonly unit: string; readonly series: readonly PlotSeries[] }

const [WIDTH, HEIGHT, MARGIN, GAP] = [720, 150, 64, 46]
// Colour-blind readers can distinguish these colours, on light and on dark backgrounds.
const COLOURS = ['#3b78c4', '#c2571a', '#3f8f5b']

/** Renders panels above each other with a common x axis, as SVG for light and dark pages. */
export function renderPlot(panels: readonly PlotPanel[], xLabel: string): string {
  const max = Math.max(...panels.flatMap(({ series }) => series.flatMap(({ points }) => points.map(([x]) => x))))
  const height = GAP + panels.length * (HEIGHT + GAP)
  const panelTexts = panels.map((panel, n) => renderPanel(panel, GAP + n * (HEIGHT + GAP), max))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">
<style>text { fill: #444 } .axis { stroke: #999; stroke-width: 1 } .grid { stroke: #ddd; stroke-width: 1 }
@media (prefers-color-scheme: dark) { text { fill: #ccc } .axis { stroke: #777 } .grid { stroke: #444 } }</style>
${panelTexts.join('\n')}
<text x="${WIDTH / 2}" y="${height - 8}" text-anchor="middle">${xLabel}</text>
</svg>
`
}

function renderPanel({ title, unit, series }: PlotPanel, top: number, xMax: number): string {
  const step = computeTickStep(Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y))))
  const ticks = Array.from({ length: 5 }, (_, n) => n * step)
  const max = 4 * step
  const x = (value: number): number => MARGIN + (value / xMax) * (WIDTH - 2 * MARGIN)
  const y = (value: number): number => top + HEIGHT - (value / max) * HEIGHT
  const right = WIDTH - MARGIN
  const xStep = computeTickStep(xMax)
  const xTicks = Array.from({ length: 5 }, (_, n) => n * xStep).filter((value) => value <= xMax)
  return [
    `<text x="${MARGIN}" y="${top - 10}" font-weight="bold">${title}, ${unit}</text>`,
    ...ticks.map(
      (tick) =>
        `<line class="grid" x1="${MARGIN}" x2="${right}" y1="${formatCoordinate(y(tick))}" y2="${formatCoordinate(y(tick))}"/>`,
    ),
    ...ticks.map(
      (tick) => `<text x="${MARGIN - 6}" y="${formatCoordinate(y(tick) + 4)}" text-anchor="end">${formatLabel(tick)}</text>`,
    ),
    ...xTicks.map(
      (tick) =>
        `<text x="${formatCoordinate(x(tick))}" y="${top + HEIGHT + 16}" text-anchor="middle">${formatLabel(tick)}</text>`,
    ),
    `<line class="axis" x1="${MARGIN}" x2="${right}" y1="${formatCoordinate(y(0))}" y2="${formatCoordinate(y(0))}"/>`,
    ...series.flatMap(({ name, points }, n) => {
      const colour = COLOURS[n % COLOURS.length] ?? ''
      const path = points.map(([px, py]) => `${formatCoordinate(x(px))},${formatCoordinate(y(py))}`).join(' ')
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${path}"/>`,
        `<text x="${right - n * 130}" y="${top - 10}" text-anchor="end" style="fill: ${colour}">${name}</text>`,
      ]
    }),
  ].join('\n')
}

/** Computes the distance of two ticks: a round number, of which four reach at least `max`. */
function computeTickStep(max: number): number {
  const size = 10 ** Math.floor(Math.log10(max / 4))
  return ([1, 2, 2.5, 5, 10].find((part) => part * size * 4 >= max) ?? 10) * size
}

const formatCoordinate = (value: number): string => value.toFixed(1)
const formatLabel = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 2 })
