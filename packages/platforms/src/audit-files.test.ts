import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openHeads, readHeads } from './audit-files.ts'

test('who reads log heads gets those that are written meanwhile: an audit takes long, and its log goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-heads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const kept = await openHeads(folder)
  await kept.append('one')
  await kept.append('two')
  const found: string[] = []
  const reader = await readHeads(join(folder, 'market.db'))
  for await (const line of reader?.lines() ?? []) {
    found.push(line)
    if (found.length < 4) await kept.append(`after ${found.length}`)
  }
  expect(found).toEqual(['one', 'two', 'after 1', 'after 2', 'after 3'])
})
