import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkFile } from './audit.ts'

/**
 * The golden file contains a sale that an earlier version stored. The current code must read its facts and derive the recorded
 * state hashes. If this test fails, the shape of a fact or the projection of a state changed: give it a new version.
 */
test('a sale of an earlier version is read, and folds to the recorded states', async () => {
  const report = await checkFile(join(import.meta.dirname, '../golden/sale.json'))
  expect(report).toMatchObject({ divergences: [], ledger_balanced: true })
  expect(report.states).toBeGreaterThan(40)
})
