import { expect, test } from 'vitest'
import { createLatencyMeter } from '../measurements/latency-meter.ts'
import { createLoadCounters } from '../measurements/counters.ts'
import { curveSettings } from './curve-load.fixture.ts'
import { toCurveLoad } from './curve-load.ts'

const createFigures = (arrived: number, sold: number) => ({
  settings: { ...curveSettings, ratePerSecond: 8 },
  counts: { ...createLoadCounters().counts(), arrived, refused: 30 },
  buyerResults: { sold, paidUnserved: 2 },
  latencies: createLatencyMeter().latencies(),
  endedBy: 'itself' as const,
  checks: [{ name: 'Money', outcome: 'fail' as const, detail: 'a msat is missing' }],
  errors: [],
})

test('the goodput is the sold share of the due orders, times their rate', () => {
  expect(toCurveLoad(createFigures(80, 20))).toMatchObject({ due: 80, refused: 30, sold: 20, goodput: 2 })
  expect(toCurveLoad(createFigures(37, 37)).goodput).toBe(8)
  expect(toCurveLoad(createFigures(0, 0)).goodput).toBe(0)
})

test('the lost orders, the failed checks and the latencies of buy are those of the load', () => {
  const meter = createLatencyMeter()
  for (const ms of [10, 20, 30]) meter.record('invoice (buy)', ms)
  const load = toCurveLoad({ ...createFigures(80, 20), latencies: meter.latencies() })
  expect(load).toMatchObject({ lost: 2, failures: ['"Money" fails: a msat is missing.'] })
  expect(load.buyP50Ms).toBeCloseTo(20, 1)
  expect(load.buyP99Ms).toBeCloseTo(30, 1)
  expect(toCurveLoad(createFigures(80, 20))).toMatchObject({ buyP50Ms: null, buyP99Ms: null })
})
