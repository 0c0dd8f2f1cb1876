import assert from 'node:assert/strict'
import { test } from 'vitest'
import { lru } from './lru.ts'

test('it keeps what is used and forgets the rest, and never keeps more than its size', () => {
  const kept = lru<number, string>(100)
  kept.set(-1, 'often')
  for (let n = 0; n < 1000; n++) {
    kept.set(n, `${n}`)
    assert.equal(kept.get(-1), 'often')
    assert.equal(kept.get(n), `${n}`)
  }
  const left = Array.from({ length: 1000 }, (_, n) => n).filter((n) => kept.get(n) !== undefined)
  assert.ok(left.length >= 49 && left.length <= 100, `${left.length} are kept`)
  assert.ok(left.every((n) => n >= 900))
})

test('a newer value counts, and what was deleted is gone, wherever it was', () => {
  const kept = lru<string, number>(4)
  kept.set('a', 1)
  kept.set('b', 1)
  kept.set('c', 1)
  kept.set('a', 2)
  assert.equal(kept.get('a'), 2)
  kept.delete('a')
  kept.delete('b')
  assert.deepEqual([kept.get('a'), kept.get('b'), kept.get('c')], [undefined, undefined, 1])
})
