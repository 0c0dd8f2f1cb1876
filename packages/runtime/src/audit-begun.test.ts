import assert from 'node:assert/strict'
import { test } from 'vitest'
import { begunNames } from './audit-begun.ts'

const names = Array.from({ length: 50_000 }, (_, n) => `order-${String(n).padStart(32, '0')}`)

test('a name that was here before is never taken for a new one, and new ones are mostly known to be new', () => {
  const begun = begunNames()
  const mistaken = names.filter((name) => begun.add(name))
  assert.ok(mistaken.length < names.length / 100, `${mistaken.length} of ${names.length}`)
  assert.ok(names.every((name) => begun.add(name)))
})
