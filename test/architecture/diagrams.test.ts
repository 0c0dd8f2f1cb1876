import assert from 'node:assert/strict'
import { test } from 'vitest'
import { findOutdatedDiagrams } from '../../tools/diagrams.ts'

test('the documents show the current state machines (if not, run: node tools/diagrams.ts)', async () => {
  assert.deepEqual([...(await findOutdatedDiagrams()).keys()], [])
})
