import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataDir, operatorToken, refuseOtherMarket } from './data-dir.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'data-dir-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const token = (given: { readonly operatorToken?: string; readonly operatorTokenFile?: string }): string =>
  operatorToken(openDataDir(folder), { operatorToken: '', operatorTokenFile: '', ...given }, systemIds())

test('the operator token is made once for its owner, unless one is given, and a file comes first', () => {
  const made = token({})
  expect(made).toHaveLength(43)
  expect(token({})).toBe(made)
  expect(statSync(join(folder, 'operator.token')).mode & 0o777).toBe(0o600)
  expect(token({ operatorToken: 'given' })).toBe('given')
  const file = join(folder, 'mounted')
  writeFileSync(file, 'mounted\n')
  expect(token({ operatorToken: 'given', operatorTokenFile: file })).toBe('mounted')
})

test('a file that is empty or missing is told: nothing else may count in its stead', () => {
  const file = join(folder, 'mounted')
  expect(() => token({ operatorTokenFile: file })).toThrow('ENOENT')
  writeFileSync(file, '\n')
  expect(() => token({ operatorTokenFile: file })).toThrow('which is empty')
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
