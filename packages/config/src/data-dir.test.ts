import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openDataDir, assertSameMarket } from './data-dir.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'data-dir-'))))
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

const modeOf = (path: string): number => statSync(path).mode & 0o777

test.each(['755', '701', '702', '704'])('a folder of mode %s is refused with a command that restricts it', (mode) => {
  chmodSync(folder, Number.parseInt(mode, 8))
  expect(() => openDataDir(folder)).toThrow(
    `The data folder ${folder} is open to other users; run as its owner: chmod -R o-rwx '${folder}'`,
  )
})

test("permissions for the process's own group are allowed, and permissions for another group are refused", () => {
  chmodSync(folder, 0o770)
  expect(() => openDataDir(folder)).not.toThrow()
  const { gid } = statSync(folder)
  vi.spyOn(process, 'getegid').mockReturnValue(gid + 1)
  vi.spyOn(process, 'getgroups').mockReturnValue([gid + 2])
  expect(() => openDataDir(folder)).toThrow(`chmod -R go-rwx '${folder}'`)
  vi.spyOn(process, 'getgroups').mockReturnValue([gid])
  expect(() => openDataDir(folder)).not.toThrow()
})

test.runIf(process.getuid?.() === 0)('a volume that Kubernetes assigned to the group of the pod is allowed', () => {
  chownSync(folder, 0, process.getegid?.() ?? 0)
  chmodSync(folder, 0o2777)
  expect(() => openDataDir(folder)).toThrow('is open to other users')
  vi.spyOn(process, 'getuid').mockReturnValue(1000)
  expect(() => openDataDir(folder)).not.toThrow()
  vi.spyOn(process, 'getegid').mockReturnValue(1000)
  vi.spyOn(process, 'getgroups').mockReturnValue([1000])
  expect(() => openDataDir(folder)).toThrow('is open to other users')
})

test('other users lose access to existing databases, and only the owner can read new files', () => {
  const before = process.umask(0o022)
  try {
    for (const name of ['records.db', 'records.db-wal', 'pepper']) writeFileSync(join(folder, name), '')
    openDataDir(folder)
    writeFileSync(join(folder, 'views.db'), '')
    mkdirSync(join(folder, 'new'))
  } finally {
    process.umask(before)
  }
  expect(modeOf(join(folder, 'records.db'))).toBe(0o640)
  expect(modeOf(join(folder, 'records.db-wal'))).toBe(0o640)
  expect(modeOf(join(folder, 'pepper'))).toBe(0o644)
  expect(modeOf(join(folder, 'views.db'))).toBe(0o600)
  expect(modeOf(join(folder, 'new'))).toBe(0o700)
})

test('a folder with the data of one market is refused for another kind of market or Lightning network', () => {
  const dir = openDataDir(folder)
  const assertFor = (kind: 'standalone' | 'cluster', lightning: 'simulated' | 'lnd') => () =>
    assertSameMarket(dir, kind, { lightning })
  for (const kind of ['standalone', 'cluster'] as const) expect(assertFor(kind, 'lnd')).not.toThrow()

  writeFileSync(dir.simnet, '')
  for (const kind of ['standalone', 'cluster'] as const) {
    expect(assertFor(kind, 'simulated')).not.toThrow()
    expect(assertFor(kind, 'lnd')).toThrow(/simulated network; set PENSTOCK_DATA_DIR to another folder/)
  }
  writeFileSync(dir.market, '')
  expect(assertFor('standalone', 'simulated')).not.toThrow()
  expect(assertFor('cluster', 'simulated')).toThrow(/contains the market of "npm start"; set PENSTOCK_DATA_DIR to another folder/)
  rmSync(dir.market)
  mkdirSync(join(folder, 'cluster'))
  expect(assertFor('cluster', 'simulated')).not.toThrow()
  expect(assertFor('standalone', 'simulated')).toThrow(/contains the market of "npm run cluster"/)
})
