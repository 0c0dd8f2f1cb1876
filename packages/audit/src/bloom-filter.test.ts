import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createBloomFilter } from './bloom-filter.ts'

const names = Array.from({ length: 50_000 }, (_, n) => `order-${String(n).padStart(32, '0')}`)

test('add reports every repeated name as known, and fewer than 1 % of the new names', () => {
  const filter = createBloomFilter()
  const mistaken = names.filter((name) => filter.add(name))
  assert.ok(mistaken.length < names.length / 100, `${mistaken.length} of ${names.length}`)
  assert.ok(names.every((name) => filter.add(name)))
})
