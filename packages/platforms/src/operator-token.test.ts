import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { ConfigError } from '@penstock/runtime/config.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataDir } from './data-dir.ts'
import { operatorToken } from './operator-token.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'operator-token-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const GIVEN = 'given-by-hand-00'

const token = (given: { readonly operatorToken?: string; readonly operatorTokenFile?: string }): string =>
  operatorToken(openDataDir(folder), { operatorToken: '', operatorTokenFile: '', ...given }, systemIds())

/** A file of the process's own user. */
function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

test('the token is made once for its owner, unless one is given, and a file comes first', () => {
  const made = token({})
  expect(made).toHaveLength(43)
  expect(token({})).toBe(made)
  expect(statSync(join(folder, 'operator.token')).mode & 0o777).toBe(0o600)
  expect(token({ operatorToken: GIVEN })).toBe(GIVEN)
  expect(token({ operatorToken: GIVEN, operatorTokenFile: file('mounted', 'mounted-by-hand-\n') })).toBe('mounted-by-hand-')
})

test('an empty token in the environment is none, and a short one is refused', () => {
  expect(token({ operatorToken: '' })).toHaveLength(43)
  for (const short of ['a', 'fifteen-letters']) expect(() => token({ operatorToken: short })).toThrow('needs at least 16')
})

test.each(['', 'a', 'fifteen-letters'])('a token that can be guessed is refused, whichever file it comes from: "%s"', (short) => {
  const refused = new RegExp(`has ${short.length} characters and needs at least 16: make one with "openssl rand`)
  expect(() => token({ operatorTokenFile: file('mounted', `${short}\n`) })).toThrow(refused)
  file('operator.token', `${short}\n`)
  expect(() => token({})).toThrow(refused)
  expect(() => token({})).toThrow(ConfigError)
})

test.each([0o640, 0o604, 0o622, 0o644])('a token that others may read is refused: mode %o', (mode) => {
  const mounted = file('mounted', GIVEN, mode)
  expect(() => token({ operatorTokenFile: mounted })).toThrow(`${mounted} can be read by others; run: chmod 600 ${mounted}`)
  file('operator.token', GIVEN, mode)
  expect(() => token({})).toThrow('can be read by others')
})

test('a file that is missing is told: nothing else may count in its stead', () => {
  expect(() => token({ operatorToken: GIVEN, operatorTokenFile: join(folder, 'mounted') })).toThrow('ENOENT')
})
