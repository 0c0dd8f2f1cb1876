import { expect, test } from 'vitest'
import { renderGrowthReport, type GrowthSample } from './growth-report.ts'
import { renderPlot } from './svg-plot.ts'

/** Creates samples up to `maxOrders` orders of equal cost. `change` replaces fields of a sample. */
const createSamples = (
  maxOrders: number,
  change: (sample: GrowthSample) => Partial<GrowthSample> = () => ({}),
): readonly GrowthSample[] =>
  Array.from({ length: maxOrders / 500 + 1 }, (_, n) => {
    const orders = n * 500
    const bytes = { market: 2048 * orders, views: 1024 * orders, others: 1024 * orders }
    const reference = { runs: n, cpuMs: 10 * n }
    const sample = { orders, reference, atMs: 40 * orders, cpuMs: 30 * orders, rss: 500 << 20, heapUsed: 100 << 20, bytes }
    return { ...sample, ...change(sample) }
  })

test('the growth page shows only the marks that the run reached, with their ratio to the first mark', () => {
  const { page, picture, isWhole, missed } = renderGrowthReport(createSamples(10_000))
  expect(page).toContain(
    '| 1,000 | 30.0 ms, 3.00 × 10.0 ms (1.00) | 40.0 ms, 4.00 × 10.0 ms (1.00) | 4.0 KiB (1.00) | 100 MiB (1.00) | 500 MiB (1.00) |',
  )
  expect(page).toContain('| 10,000 | 30.0 ms, 3.00 × 10.0 ms (1.00)')
  expect(page).toContain('| at most 1.2 | held: 1.00 | held: 1.00 | held: 1.00 | held: 1.00 | held: 1.00 |')
  expect(page).not.toContain('| 30,000 |')
  expect(picture).toContain('<svg')
  expect({ isWhole, missed }).toEqual({ isWhole: false, missed: [] })
})

test('a report is whole if the run reached all marks, and has no ratios if the run reached only one mark', () => {
  expect(renderGrowthReport(createSamples(30_000))).toMatchObject({ isWhole: true, missed: [] })
  expect(renderGrowthReport(createSamples(29_500)).isWhole).toBe(false)
  expect(renderGrowthReport(createSamples(3000)).page).not.toContain('at most 1.2 |')
})

test.each<[string, (sample: GrowthSample) => Partial<GrowthSample>]>([
  [
    'CPU per order is 3.00 of the first mark at 30000 orders',
    ({ orders, cpuMs }) => (orders > 20_000 ? { cpuMs: 3 * cpuMs - 1_200_000 } : {}),
  ],
  [
    'wall clock per order is 1.50 of the first mark at 10000 orders',
    ({ orders, atMs }) => (orders > 9000 && orders < 20_000 ? { atMs: 1.5 * atMs - 180_000 } : {}),
  ],
  [
    'on disk per order is 1.75 of the first mark at 30000 orders',
    ({ orders, bytes }) => (orders > 20_000 ? { bytes: { ...bytes, views: 4 * bytes.views - 61_440_000 } } : {}),
  ],
  ['heap is 1.21 of the first mark at 30000 orders', ({ orders }) => (orders > 20_000 ? { heapUsed: 121 << 20 } : {})],
  ['resident is 1.30 of the first mark at 10000 orders', ({ orders }) => (orders === 10_000 ? { rss: 650 << 20 } : {})],
])('the report and its page state which figure grows: %s', (sentence, change) => {
  const { page, missed } = renderGrowthReport(createSamples(30_000, change))
  expect(missed).toEqual([`Not flat: ${sentence}.`])
  expect(page.match(/missed: /g)).toHaveLength(1)
})

test('the report misses no target when orders and the reference workload get slower alike', () => {
  const slowDown = ({ orders, cpuMs, atMs }: GrowthSample) => {
    const more = Math.max(0, orders - 20_000)
    return { cpuMs: cpuMs + 30 * more, atMs: atMs + 40 * more, reference: { runs: orders / 500, cpuMs: (orders + more) / 50 } }
  }
  const { page, missed } = renderGrowthReport(createSamples(30_000, slowDown))
  expect(missed).toEqual([])
  expect(page).toContain('| 30,000 | 60.0 ms, 3.00 × 20.0 ms (1.00)')
})

test('a plot has one line per series, within its edges', () => {
  const svg = renderPlot(
    [
      {
        title: 'One',
        unit: 'ms',
        series: [
          {
            name: 'a',
            points: [
              [0, 1],
              [10, 93],
            ],
          },
        ],
      },
    ],
    'orders',
  )
  expect(svg.match(/<polyline/g)).toHaveLength(1)
  const heights =
    /points="([^"]+)"/
      .exec(svg)?.[1]
      ?.split(' ')
      .map((point) => Number(point.split(',')[1])) ?? []
  expect(Math.min(...heights)).toBeGreaterThan(40)
})
