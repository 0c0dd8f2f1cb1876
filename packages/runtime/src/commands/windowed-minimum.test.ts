import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createWindowedMinimum } from './windowed-minimum.ts'

test('the minimum covers the last two windows, and forgets earlier ones', () => {
  const minimum = createWindowedMinimum(100)
  assert.equal(minimum.read(0), undefined)
  minimum.add(10, 5)
  minimum.add(20, 7)
  assert.equal(minimum.read(90), 5)
  minimum.add(150, 9)
  assert.equal(minimum.read(150), 5)
  minimum.add(250, 8)
  assert.equal(minimum.read(299), 8)
})

test('a window without values does not change the minimum', () => {
  const minimum = createWindowedMinimum(100)
  minimum.add(10, 5)
  assert.equal(minimum.read(100_000), 5)
  minimum.add(100_001, 9)
  assert.equal(minimum.read(100_001), 5)
  minimum.add(100_101, 8)
  assert.equal(minimum.read(100_101), 8)
})
