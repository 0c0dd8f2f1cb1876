import { expect, test } from 'vitest'
import { growthPage, type Sample } from './growth-report.ts'
import { plot } from './plot.ts'

test('the page about growth compares the marks that were reached', () => {
  const sampleAt = (orders: number): Sample => ({
    orders,
    atMs: 40 * orders,
    cpuMs: 30 * orders,
    rss: 500 << 20,
    heapUsed: 100 << 20,
    bytes: { market: 2048 * orders, views: 1024 * orders, others: 1024 * orders },
  })
  const { page, picture } = growthPage(Array.from({ length: 21 }, (_, n) => sampleAt(n * 500)))
  expect(page).toContain('| 1,000 | 30.0 ms (1.00) | 40.0 ms (1.00) | 4.0 KiB (1.00) | 100 MiB (1.00) | 500 MiB |')
  expect(page).toContain('| 10,000 | 30.0 ms (1.00)')
  expect(page).not.toContain('| 30,000 |')
  expect(picture).toContain('<svg')
})

test('a picture has a line for each series, within its edges', () => {
  const svg = plot(
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
