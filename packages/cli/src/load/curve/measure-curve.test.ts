import { expect, test } from 'vitest'
import type { CurveLoad } from './curve-load.ts'
import { createCurveLoad } from './curve-load.fixture.ts'
import { type CurveSource, measureCurve } from './measure-curve.ts'

const CAPACITY = 6
const recoveryOf = (normalP50Ms: number) => ({ normalP50Ms, limitMs: 2 * normalP50Ms, purchases: [], recoveredMs: 3000 })

/** Fixture: a market with a fixed capacity. @param change changes the outcome of a load */
function createSource(change: (rate: number) => Partial<CurveLoad> = () => ({})) {
  const steps: string[] = []
  const source: CurveSource = {
    async loadAt(rate, title, onArrivalsEnd) {
      steps.push(`${title}: ${rate}`)
      onArrivalsEnd?.()
      // The orders in flight end after the recovery.
      if (onArrivalsEnd) await new Promise((resolve) => setImmediate(resolve))
      if (onArrivalsEnd) steps.push('the load ends')
      return createCurveLoad(rate, CAPACITY, change(rate))
    },
    async measureRecovery(normalP50Ms) {
      steps.push('recovery')
      return recoveryOf(normalP50Ms)
    },
  }
  return { source, steps }
}

test('the loads are multiples of the capacity, and the recovery begins when the overload ends', async () => {
  const { source, steps } = createSource((rate) => (rate === 3 ? { buyP50Ms: 25 } : {}))
  const { points, recovery } = await measureCurve(4, source)
  expect(steps).toEqual([
    'Search of the capacity: 4',
    'Search of the capacity: 8',
    'Search of the capacity: 16',
    '0.5 times the capacity: 3',
    '1 time the capacity: 6',
    '2 times the capacity: 12',
    '4 times the capacity: 24',
    'recovery',
    'the load ends',
  ])
  expect(points.map(({ factor, goodput }) => [factor, goodput])).toEqual([
    [0.5, 3],
    [1, 6],
    [2, 6],
    [4, 6],
  ])
  expect(recovery).toEqual(recoveryOf(25))
})

test('Ctrl-C ends the curve after the present load', async () => {
  const { source, steps } = createSource((rate) => (rate === 12 ? { endedBy: 'interrupt' } : {}))
  const { points, recovery } = await measureCurve(4, source)
  expect(points.map(({ factor }) => factor)).toEqual([0.5, 1, 2])
  expect({ recovery, last: steps.at(-1) }).toEqual({ recovery: null, last: '2 times the capacity: 12' })
})

test('a market that sells nothing has no curve', async () => {
  const { source } = createSource(() => ({ goodput: 0, sold: 0, failures: ['2 errors, and 0 are allowed.'] }))
  await expect(measureCurve(4, source)).rejects.toThrow(/^The market sold nothing, .*\n2 errors, and 0 are allowed\.$/)
})

test('the recovery is unknown if no purchase of the first point had an invoice', async () => {
  const { source } = createSource(() => ({ buyP50Ms: null }))
  const { points, recovery } = await measureCurve(4, source)
  expect({ points: points.length, recovery }).toEqual({ points: 4, recovery: null })
})
