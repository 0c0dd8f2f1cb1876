import assert from 'node:assert/strict'
import { test } from 'vitest'
import { compareToReference, computeQuantile, type BenchmarkRow, judgeRow } from './harness.ts'
import { formatBenchmarkTable } from './table.ts'

const reference = { name: 'other', measure: async () => [100, 10] }
const rowsOf = (rate: number, ms: number): Promise<readonly BenchmarkRow[]> =>
  compareToReference({
    rows: [
      { description: 'rate', unit: '/s', target: 0.7 },
      { description: 'time', unit: 'ms', maxRatio: 3 },
    ],
    measure: async () => [rate, ms],
    reference,
    rounds: 3,
  })

test('a rate below its minimum ratio misses the target, and so does a time above its maximum ratio', async () => {
  const shorts = async (rate: number, ms: number) => (await rowsOf(rate, ms)).map((row) => judgeRow(row)?.hasMissed)
  assert.deepEqual(await shorts(70, 30), [false, false])
  assert.deepEqual(await shorts(69, 31), [true, true])
  assert.deepEqual(await shorts(Number.NaN, Number.NaN), [true, true])
})

test('the table marks only the row that misses its target as short', async () => {
  const [, , rate = '', time = ''] = formatBenchmarkTable(await rowsOf(69, 20)).split('\n')
  assert.match(rate, />= 0\.7 short/)
  assert.match(time, /<= 3 /)
  assert.doesNotMatch(time, /short/)
})

test('a quantile is interpolated between the two nearest values', () => {
  const seven = [7, 1, 3, 2, 6, 5, 4]
  assert.deepEqual(
    [0, 0.1, 0.5, 0.9, 1].map((part) => Number(computeQuantile(seven, part).toFixed(6))),
    [1, 1.6, 4, 6.4, 7],
  )
  assert.equal(computeQuantile([5], 0.99), 5)
  assert.ok(Number.isNaN(computeQuantile([], 0.5)))
})
