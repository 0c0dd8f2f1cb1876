import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createLru } from './lru.ts'

test('the cache keeps used entries, drops unused entries, and never exceeds its capacity', () => {
  const cache = createLru<number, string>(100)
  cache.set(-1, 'often')
  for (let n = 0; n < 1000; n++) {
    cache.set(n, `${n}`)
    assert.equal(cache.get(-1), 'often')
    assert.equal(cache.get(n), `${n}`)
  }
  const remaining = Array.from({ length: 1000 }, (_, n) => n).filter((n) => cache.get(n) !== undefined)
  assert.ok(remaining.length >= 49 && remaining.length <= 100, `${remaining.length} are kept`)
  assert.ok(remaining.every((n) => n >= 900))
})

test('a newer value replaces the old value, and a deleted entry is gone from both halves', () => {
  const cache = createLru<string, number>(4)
  cache.set('a', 1)
  cache.set('b', 1)
  cache.set('c', 1)
  cache.set('a', 2)
  assert.equal(cache.get('a'), 2)
  cache.delete('a')
  cache.delete('b')
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [undefined, undefined, 1])
})
