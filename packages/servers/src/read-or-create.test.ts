import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readOrCreate } from './read-or-create.ts'

test('a file is complete after an interrupted first write, and only its owner can read it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-kept-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'password')
  writeFileSync(`${file}.partial`, 'ha')
  expect(await readOrCreate(file, async () => 'whole')).toBe('whole')
  expect(await readOrCreate(file, async () => 'another')).toBe('whole')
  expect(readFileSync(file, 'utf8')).toBe('whole')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})
