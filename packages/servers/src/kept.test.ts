import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { kept } from './kept.ts'

test('what is kept is whole, although its first writer was killed in the middle, and is for its owner alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-kept-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'password')
  writeFileSync(`${file}.partial`, 'ha')
  expect(await kept(file, async () => 'whole')).toBe('whole')
  expect(await kept(file, async () => 'another')).toBe('whole')
  expect(readFileSync(file, 'utf8')).toBe('whole')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})
