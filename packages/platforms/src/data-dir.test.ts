import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openDataDir, refuseOtherMarket } from './data-dir.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'data-dir-'))))
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

const modeOf = (path: string): number => statSync(path).mode & 0o777

test.each(['755', '701', '702', '704'])('a folder of mode %s is refused, with the command that closes it', (mode) => {
  chmodSync(folder, Number.parseInt(mode, 8))
  expect(() => openDataDir(folder)).toThrow(
    `The data folder ${folder} is open to other users; run as its owner: chmod -R o-rwx '${folder}'`,
  )
})

test("rights of the process's own group are allowed, those of another group are refused", () => {
  chmodSync(folder, 0o770)
  expect(() => openDataDir(folder)).not.toThrow()
  const { gid } = statSync(folder)
  vi.spyOn(process, 'getegid').mockReturnValue(gid + 1)
  vi.spyOn(process, 'getgroups').mockReturnValue([gid + 2])
  expect(() => openDataDir(folder)).toThrow(`chmod -R go-rwx '${folder}'`)
  vi.spyOn(process, 'getgroups').mockReturnValue([gid])
  expect(() => openDataDir(folder)).not.toThrow()
})

test.runIf(process.getuid?.() === 0)('a volume that Kubernetes gave to the group of the pod is allowed', () => {
  chownSync(folder, 0, process.getegid?.() ?? 0)
  chmodSync(folder, 0o2777)
  expect(() => openDataDir(folder)).toThrow('is open to other users')
  vi.spyOn(process, 'getuid').mockReturnValue(1000)
  expect(() => openDataDir(folder)).not.toThrow()
  vi.spyOn(process, 'getegid').mockReturnValue(1000)
  vi.spyOn(process, 'getgroups').mockReturnValue([1000])
  expect(() => openDataDir(folder)).toThrow('is open to other users')
})

test('databases that others may read are closed, and new files are for the owner only', () => {
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

test('a folder is of one market: of one process or of a cluster, on the simulated network or on an lnd', () => {
  const dir = openDataDir(folder)
  const refused = (kind: 'standalone' | 'cluster', lightning: 'simulated' | 'lnd') => () =>
    refuseOtherMarket(dir, kind, { lightning })
  for (const kind of ['standalone', 'cluster'] as const) expect(refused(kind, 'lnd')).not.toThrow()

  writeFileSync(dir.simnet, '')
  for (const kind of ['standalone', 'cluster'] as const) {
    expect(refused(kind, 'simulated')).not.toThrow()
    expect(refused(kind, 'lnd')).toThrow(/simulated network; set PENSTOCK_DATA_DIR to another folder/)
  }
  writeFileSync(dir.market, '')
  expect(refused('standalone', 'simulated')).not.toThrow()
  expect(refused('cluster', 'simulated')).toThrow(/holds the market of "npm start"; set PENSTOCK_DATA_DIR to another folder/)
  rmSync(dir.market)
  mkdirSync(join(folder, 'cluster'))
  expect(refused('cluster', 'simulated')).not.toThrow()
  expect(refused('standalone', 'simulated')).toThrow(/holds the market of "npm run cluster"/)
})
