import assert from 'node:assert/strict'
import { test } from 'vitest'
import { splitForStatements } from './statement-sizes.ts'

test.each([
  [0, []],
  [1, [1]],
  [7, [4, 2, 1]],
  [32, [32]],
  [77, [32, 32, 8, 4, 1]],
])('%i rows are divided into groups whose sizes are powers of two, in their order', (count, sizes) => {
  const rows = Array.from({ length: count }, (_, n) => n)
  const groups = splitForStatements(rows)
  assert.deepEqual(
    groups.map(({ length }) => length),
    sizes,
  )
  assert.deepEqual(groups.flat(), rows)
})
