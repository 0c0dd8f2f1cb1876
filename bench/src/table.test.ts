import assert from 'node:assert/strict'
import { test } from 'vitest'
import { compare, quantile, type Row, verdictOf } from './harness.ts'
import { table } from './table.ts'

const reference = { name: 'other', measure: async () => [100, 10] }
const rowsOf = (rate: number, ms: number): Promise<readonly Row[]> =>
  compare({
    rows: [
      { what: 'rate', unit: '/s', target: 0.7 },
      { what: 'time', unit: 'ms', most: 3 },
    ],
    measure: async () => [rate, ms],
    reference,
    rounds: 3,
  })

test('a rate is short below its target, a time above its', async () => {
  const shorts = async (rate: number, ms: number) => (await rowsOf(rate, ms)).map((row) => verdictOf(row)?.isShort)
  assert.deepEqual(await shorts(70, 30), [false, false])
  assert.deepEqual(await shorts(69, 31), [true, true])
  assert.deepEqual(await shorts(Number.NaN, Number.NaN), [true, true])
})

test('the table says so plainly', async () => {
  const [, , rate = '', time = ''] = table(await rowsOf(69, 20)).split('\n')
  assert.match(rate, />= 0\.7 short/)
  assert.match(time, /<= 3 /)
  assert.doesNotMatch(time, /short/)
})

test('a quantile lies between the values around it', () => {
  const seven = [7, 1, 3, 2, 6, 5, 4]
  assert.deepEqual(
    [0, 0.1, 0.5, 0.9, 1].map((part) => Number(quantile(seven, part).toFixed(6))),
    [1, 1.6, 4, 6.4, 7],
  )
  assert.equal(quantile([5], 0.99), 5)
  assert.ok(Number.isNaN(quantile([], 0.5)))
})
