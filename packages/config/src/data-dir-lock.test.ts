import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { openDataDir } from './data-dir.ts'
import { lockDataDir } from './data-dir-lock.ts'

test('a locked data folder cannot be locked again before the release', () => {
  const path = mkdtempSync(join(tmpdir(), 'penstock-lock-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const dir = openDataDir(path)
  const first = lockDataDir(dir)
  assert.throws(() => lockDataDir(dir, 1), /another Penstock runs on the data folder/)
  first.release()
  lockDataDir(dir).release()
})
