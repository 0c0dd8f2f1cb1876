import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { canonical } from './canonical.ts'

const json = fc.jsonValue()

test('the order of keys does not matter', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), (record) => {
      const reversed = Object.fromEntries(Object.entries(record).reverse())
      assert.equal(canonical(record), canonical(reversed))
    }),
  )
})

test('different values have different texts', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
      assert.equal(canonical(a) === canonical(b), same)
    }),
  )
})

test('what JSON would lose in silence is refused', () => {
  for (const value of [new Map(), new Set(), Number.NaN, () => 1, Symbol('s')]) assert.throws(() => canonical({ value }))
})

test('a bigint is written as a decimal string, undefined is left out', () => {
  assert.equal(canonical({ b: 12n, a: undefined }), '{"b":"12"}')
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
