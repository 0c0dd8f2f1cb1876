import assert from 'node:assert/strict'
import { test } from 'vitest'
import { outdatedDiagrams } from '../../tools/diagrams.ts'

test('the documents show the machines of today; if not, run: node tools/diagrams.ts', async () => {
  assert.deepEqual([...(await outdatedDiagrams()).keys()], [])
})
