import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLatencyHistogram, readPercentileMs, createLatencyMeter, recordMs } from './latency-meter.ts'

const percentiles = [1, 25, 50, 90, 99, 99.9, 100]

test('every percentile equals that of the sorted values within 0.1 %', () => {
  const value = fc.oneof(fc.double({ min: 0.001, max: 5, noNaN: true }), fc.double({ min: 1, max: 3_600_000, noNaN: true }))
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 400 }), (values) => {
      const recorded = createLatencyHistogram()
      for (const ms of values) recordMs(recorded, ms)
      const sorted = values.map((ms) => Math.max(1, Math.round(ms * 1000)) / 1000).toSorted((a, b) => a - b)
      for (const percentile of percentiles) {
        // HdrHistogram uses the nearest rank: of five values, the smallest is the 25 % percentile.
        const exact = sorted[Math.max(1, Math.floor((percentile / 100) * sorted.length + 0.5)) - 1] ?? 0
        const found = readPercentileMs(recorded, percentile)
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.001 + 0.001)
      }
      expect(recorded.count).toBe(values.length)
    }),
    { numRuns: 200 },
  )
})

test('a latency of more than a day counts as a day, and a latency of 0 counts as a microsecond', () => {
  const recorded = createLatencyHistogram()
  recordMs(recorded, 1e12)
  recordMs(recorded, 0)
  expect(recorded.count).toBe(2)
  expect(readPercentileMs(recorded, 100)).toBeGreaterThan(86_000_000)
  expect(readPercentileMs(recorded, 1)).toBeCloseTo(0.001, 6)
})

test('an interval has the values since the previous interval, and the totals have all values', () => {
  const meter = createLatencyMeter()
  meter.record('get_order', 10)
  meter.record('get_order', 20)
  expect(meter.takeInterval()['get_order']?.count).toBe(2)
  meter.record('get_order', 30)
  const slice = meter.takeInterval()
  expect(slice['get_order']?.count).toBe(1)
  expect(slice['get_order']?.maxMs).toBeCloseTo(30, 0)
  expect(slice.page).toBeUndefined()
  expect(meter.takeInterval()).toEqual({})
  const [latency] = meter.latencies()
  expect(latency).toMatchObject({ step: 'get_order', count: 3 })
  expect(latency?.p50Ms).toBeCloseTo(20, 1)
  expect(latency?.maxMs).toBeCloseTo(30, 1)
})

test('a percentile curve rises, and has no point above which no value was recorded', () => {
  const meter = createLatencyMeter()
  for (let ms = 1; ms <= 1000; ms++) meter.record('page', ms)
  const [curve] = meter.curves()
  const points = curve?.points ?? []
  expect(points.length).toBeGreaterThan(20)
  expect(points.every(({ ms }, index) => ms >= (points[index - 1]?.ms ?? 0))).toBe(true)
  expect(points.at(-1)?.percentile).toBeLessThan(100)
  expect(points.at(-1)?.percentile).toBeGreaterThan(99.8)
})

test('expected values that are neither recorded nor waived are missing, and unanswered requests are counted', () => {
  const meter = createLatencyMeter()
  for (let n = 0; n < 5; n++) meter.expect('settled')
  meter.waive('settled')
  meter.record('settled', 10)
  meter.record('settled', 900, 'timedOut')
  meter.record('settled', 500, 'unsent')
  meter.expect('opening')
  meter.record('start lag', 1)
  const [opening, settled, lag] = meter.latencies()
  expect(settled).toMatchObject({ step: 'settled', count: 3, timedOut: 1, unsent: 1, missing: 1 })
  expect(settled?.maxMs).toBeCloseTo(900, -1)
  expect(opening).toEqual({
    step: 'opening',
    count: 0,
    timedOut: 0,
    unsent: 0,
    missing: 1,
    p50Ms: null,
    p90Ms: null,
    p99Ms: null,
    p999Ms: null,
    maxMs: null,
  })
  expect(lag).toMatchObject({ step: 'start lag', count: 1, missing: 0 })
})
