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

test('keys that look alike when they are put together are told apart', () => {
  assert.equal(canonical({ 'a,b': 1, c: 2 }), '{"a,b":1,"c":2}')
  assert.equal(canonical({ a: 1, 'b,c': 2 }), '{"a":1,"b,c":2}')
  assert.equal(canonical({ c: 2, 'a,b': 1 }), '{"a,b":1,"c":2}')
})

test('texts are escaped as JSON does it', () => {
  for (const text of ['"', '\\', '\n', '\u2028', '\ud800', 'é', '\u007f', '~ !#[]'])
    assert.equal(canonical(text), JSON.stringify(text))
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => assert.equal(canonical(text), JSON.stringify(text))))
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
