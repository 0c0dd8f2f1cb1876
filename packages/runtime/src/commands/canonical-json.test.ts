import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { toCanonicalJson } from './canonical-json.ts'

const json = fc.jsonValue()

test('objects with the same members in another order have the same text', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), (record) => {
      const reversed = Object.fromEntries(Object.entries(record).reverse())
      assert.equal(toCanonicalJson(record), toCanonicalJson(reversed))
    }),
  )
})

test('different values have different texts', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
      assert.equal(toCanonicalJson(a) === toCanonicalJson(b), same)
    }),
  )
})

test('a value that JSON would lose silently is refused', () => {
  for (const value of [new Map(), new Set(), Number.NaN, () => 1, Symbol('s')]) assert.throws(() => toCanonicalJson({ value }))
})

test('a bigint becomes a decimal string, and undefined is omitted', () => {
  assert.equal(toCanonicalJson({ b: 12n, a: undefined }), '{"b":"12"}')
})

test('different keys that are equal when joined are distinguished', () => {
  assert.equal(toCanonicalJson({ 'a,b': 1, c: 2 }), '{"a,b":1,"c":2}')
  assert.equal(toCanonicalJson({ a: 1, 'b,c': 2 }), '{"a":1,"b,c":2}')
  assert.equal(toCanonicalJson({ c: 2, 'a,b': 1 }), '{"a,b":1,"c":2}')
})

test('strings are escaped as JSON.stringify escapes them', () => {
  for (const text of ['"', '\\', '\n', '\u2028', '\ud800', 'é', '\u007f', '~ !#[]'])
    assert.equal(toCanonicalJson(text), JSON.stringify(text))
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => assert.equal(toCanonicalJson(text), JSON.stringify(text))))
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
