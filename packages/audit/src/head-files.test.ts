import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLogHeads, readLogHeads } from './head-files.ts'

test('a reader of log heads also gets the lines that are appended while it reads', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-heads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const heads = await openLogHeads(folder)
  await heads.append('one')
  await heads.append('two')
  const found: string[] = []
  const reader = await readLogHeads(join(folder, 'market.db'))
  for await (const line of reader?.lines() ?? []) {
    found.push(line)
    if (found.length < 4) await heads.append(`after ${found.length}`)
  }
  expect(found).toEqual(['one', 'two', 'after 1', 'after 2', 'after 3'])
})
