import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataDir } from '@penstock/config/data-dir.ts'
import { resolveOperatorToken } from './operator-token.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'operator-token-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const GIVEN = 'given-by-hand-00'

const token = (given: { readonly operatorToken?: string; readonly operatorTokenFile?: string }): string =>
  resolveOperatorToken(openDataDir(folder), { operatorToken: '', operatorTokenFile: '', ...given }, systemIds())

/** Writes a file that belongs to the process's own user. */
function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

test('the token comes from the configured file, else from the environment, else from a file that the first call creates', () => {
  const created = token({})
  expect(created).toHaveLength(43)
  expect(token({})).toBe(created)
  expect(statSync(join(folder, 'operator.token')).mode & 0o777).toBe(0o600)
  expect(token({ operatorToken: GIVEN })).toBe(GIVEN)
  expect(token({ operatorToken: GIVEN, operatorTokenFile: file('mounted', 'mounted-by-hand-\n') })).toBe('mounted-by-hand-')
})

test('an empty token in the environment counts as unset, and a short token is refused', () => {
  expect(token({ operatorToken: '' })).toHaveLength(43)
  for (const short of ['a', 'fifteen-letters']) expect(() => token({ operatorToken: short })).toThrow('needs at least 16')
})

test.each(['', 'a', 'fifteen-letters'])('a short token is refused in a configured and in a created file: "%s"', (short) => {
  const refused = new RegExp(`has ${short.length} characters and needs at least 16: make one with "openssl rand`)
  expect(() => token({ operatorTokenFile: file('mounted', `${short}\n`) })).toThrow(refused)
  file('operator.token', `${short}\n`)
  expect(() => token({})).toThrow(refused)
  expect(() => token({})).toThrow(ConfigError)
})

test.each([0o640, 0o604, 0o622, 0o644])('a token file that others may read is refused: mode %o', (mode) => {
  const mounted = file('mounted', GIVEN, mode)
  expect(() => token({ operatorTokenFile: mounted })).toThrow(`${mounted} can be read by others; run: chmod 600 ${mounted}`)
  file('operator.token', GIVEN, mode)
  expect(() => token({})).toThrow('can be read by others')
})

test('a configured token file that does not exist is an error, even if the environment has a token', () => {
  expect(() => token({ operatorToken: GIVEN, operatorTokenFile: join(folder, 'mounted') })).toThrow('ENOENT')
})
