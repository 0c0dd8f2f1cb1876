/** A line of points: across, up. */
export type Series = { readonly name: string; readonly points: readonly (readonly [number, number])[] }
export type Panel = { readonly title: string; readonly unit: string; readonly series: readonly Series[] }

const [WIDTH, HEIGHT, MARGIN, GAP] = [720, 150, 64, 46]
// Told apart by people who see colours otherwise, on light paper and on dark.
const COLOURS = ['#3b78c4', '#c2571a', '#3f8f5b']

/** Panels above each other over one axis, as SVG that is read with and without a dark page. */
export function plot(panels: readonly Panel[], across: string): string {
  const most = Math.max(...panels.flatMap(({ series }) => series.flatMap(({ points }) => points.map(([x]) => x))))
  const height = GAP + panels.length * (HEIGHT + GAP)
  const drawn = panels.map((panel, n) => panelOf(panel, GAP + n * (HEIGHT + GAP), most))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">
<style>text { fill: #444 } .axis { stroke: #999; stroke-width: 1 } .grid { stroke: #ddd; stroke-width: 1 }
@media (prefers-color-scheme: dark) { text { fill: #ccc } .axis { stroke: #777 } .grid { stroke: #444 } }</style>
${drawn.join('\n')}
<text x="${WIDTH / 2}" y="${height - 8}" text-anchor="middle">${across}</text>
</svg>
`
}

function panelOf({ title, unit, series }: Panel, top: number, mostAcross: number): string {
  const step = stepOf(Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y))))
  const ticks = Array.from({ length: 5 }, (_, n) => n * step)
  const most = 4 * step
  const x = (value: number): number => MARGIN + (value / mostAcross) * (WIDTH - 2 * MARGIN)
  const y = (value: number): number => top + HEIGHT - (value / most) * HEIGHT
  const right = WIDTH - MARGIN
  const sideways = stepOf(mostAcross)
  const acrossTicks = Array.from({ length: 5 }, (_, n) => n * sideways).filter((value) => value <= mostAcross)
  return [
    `<text x="${MARGIN}" y="${top - 10}" font-weight="bold">${title}, ${unit}</text>`,
    ...ticks.map((tick) => `<line class="grid" x1="${MARGIN}" x2="${right}" y1="${at(y(tick))}" y2="${at(y(tick))}"/>`),
    ...ticks.map((tick) => `<text x="${MARGIN - 6}" y="${at(y(tick) + 4)}" text-anchor="end">${label(tick)}</text>`),
    ...acrossTicks.map((tick) => `<text x="${at(x(tick))}" y="${top + HEIGHT + 16}" text-anchor="middle">${label(tick)}</text>`),
    `<line class="axis" x1="${MARGIN}" x2="${right}" y1="${at(y(0))}" y2="${at(y(0))}"/>`,
    ...series.flatMap(({ name, points }, n) => {
      const colour = COLOURS[n % COLOURS.length] ?? ''
      const path = points.map(([px, py]) => `${at(x(px))},${at(y(py))}`).join(' ')
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${path}"/>`,
        `<text x="${right - n * 130}" y="${top - 10}" text-anchor="end" style="fill: ${colour}">${name}</text>`,
      ]
    }),
  ].join('\n')
}

/** A quarter of the axis: a round number, and room above. */
function stepOf(most: number): number {
  const size = 10 ** Math.floor(Math.log10(most / 4))
  return ([1, 2, 2.5, 5, 10].find((part) => part * size * 4 >= most) ?? 10) * size
}

const at = (value: number): string => value.toFixed(1)
const label = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 2 })
