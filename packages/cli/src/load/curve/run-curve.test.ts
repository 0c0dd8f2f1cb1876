import { expect, test } from 'vitest'
import { createVirtualRun } from '../virtual-run.fixture.ts'
import { createFakeMarket } from './fake-market.fixture.ts'
import { listCurveFailures, listCurveNotes } from './curve-format.ts'
import { curveSettings } from './curve-load.fixture.ts'
import { toCurveSettings } from './curve-settings.ts'
import { runCurve } from './run-curve.ts'

const CAPACITY = 4
const SLOW_MS = 3000

type MeasureOptions = {
  readonly isLost?: (nth: number) => boolean
  readonly isSimulated?: boolean
  readonly token?: string | undefined
}

/** Measures the curve of a fake market in virtual time. */
async function measure({ isLost = (_: number) => false, isSimulated = true, ...access }: MeasureOptions = {}) {
  const time = createVirtualRun()
  const { clock } = time
  const market = createFakeMarket({ clock, perSecond: CAPACITY, slowMs: SLOW_MS, isLost, isSimulated })
  const durationMs = 5000
  const settings = { ...toCurveSettings({ ...curveSettings, ratePerSecond: 1 }, () => false), durationMs }
  const report = await time.complete(
    runCurve({
      access: { marketAddress: { url: new URL('http://a.example'), addresses: [] }, token: 'token', ...access },
      settings,
      interrupt: new AbortController().signal,
      err: () => undefined,
      clock,
      openTransport: () => market,
    }),
  )
  return { report, failures: listCurveFailures(report) }
}

test('the curve of a market has its capacity, its refusals beyond it, and the time to its recovery', async () => {
  const { report, failures } = await measure()
  expect(failures).toEqual([])
  expect(report.search.loads.map(({ perSecond }) => perSecond)).toEqual([1, 2, 4, 8])
  expect(report.search.capacityPerSecond).toBe(CAPACITY)
  const { points, recovery } = report
  expect(points.map(({ factor, due, refused }) => [factor, due, refused > 0])).toEqual([
    [0.5, 10, false],
    [1, 20, false],
    [2, 40, true],
    [4, 80, true],
  ])
  for (const { factor, goodput } of points) expect(goodput).toBe(CAPACITY * Math.min(1, factor))
  for (const { due, refused, sold } of points) expect(refused + sold).toBe(due)
  expect(recovery?.recoveredMs).toBe(SLOW_MS)
  expect(listCurveNotes(report)).toHaveLength(1)
})

test('a paid order that the market loses in the heaviest load fails the curve', async () => {
  const { report: good } = await measure()
  const sold = [...good.search.loads, ...good.points].reduce((sum, load) => sum + load.sold, 0)
  const { report, failures } = await measure({ isLost: (nth) => nth > sold - 2 })
  expect(report.points.map(({ lost }) => lost)).toEqual([0, 0, 0, 2])
  expect(failures).toEqual(['At 4 times the capacity, 2 paid orders were lost: they ended without a channel.'])
})

test('a curve needs an operator token and a simulated network', async () => {
  const sentence = /^A curve needs the operator token of a market with a simulated network/
  await expect(measure({ token: undefined })).rejects.toThrow(sentence)
  await expect(measure({ isSimulated: false })).rejects.toThrow(sentence)
})
