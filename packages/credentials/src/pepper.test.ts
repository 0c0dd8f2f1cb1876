import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPepper } from './pepper.ts'
import { isReadableByOthers } from '@penstock/config/secret-file.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'penstock-pepper-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

test('concurrent starts create one pepper, which only its owner can read', async () => {
  const dataDir = join(await folder(), 'data')
  const peppers = await Promise.all(Array.from({ length: 8 }, () => openPepper(dataDir)))
  expect(new Set(peppers.map((pepper) => Buffer.from(pepper).toString('hex'))).size).toBe(1)
  expect(await openPepper(dataDir)).toEqual(peppers[0])
  expect((await stat(join(dataDir, 'pepper'))).mode & 0o777).toBe(0o600)
  expect(await readdir(dataDir)).toEqual(['pepper'])
})
test('a pepper file that others can read, or that is damaged, is refused', async () => {
  const dataDir = await folder()
  await openPepper(dataDir)
  await chmod(join(dataDir, 'pepper'), 0o644)
  await expect(openPepper(dataDir)).rejects.toThrow('chmod 600')
  await writeFile(join(dataDir, 'pepper'), 'half')
  await chmod(join(dataDir, 'pepper'), 0o600)
  await expect(openPepper(dataDir)).rejects.toThrow('damaged')
})

test.each([
  [0o600, 'ours', false],
  [0o640, 'ours', true],
  [0o644, 'ours', true],
  [0o440, 'mounted', false],
  [0o640, 'mounted', false],
  [0o460, 'mounted', true],
  [0o444, 'mounted', true],
] as const)('mode %o of a file that is %s makes isReadableByOthers return %s', (mode, whose, expected) => {
  const own = process.getuid?.() ?? 0
  expect(isReadableByOthers({ mode, uid: whose === 'ours' ? own : own + 1 })).toBe(expected)
})
