import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDataDir } from '@penstock/config/data-dir.ts'
import { isStoreInServer, readServerAddress } from '@penstock/config/event-store-address.ts'
import { openStoreAt, openLocalStore } from './open-store.ts'

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'penstock-place-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return openDataDir(path)
}
const at = (eventStore: string) => ({ eventStore })
const KURRENT = 'kurrentdb://penstock:secret@one:2113,two:2113?tls=true'
const withoutFacts = false

test('a folder refuses another store than its first, and records the address without the password', async () => {
  const dir = folder()
  expect(isStoreInServer(dir, at(KURRENT), withoutFacts)).toBe(true)
  expect(readFileSync(join(dir.path, 'event-store.url'), 'utf8')).not.toContain('secret')
  expect(readServerAddress(dir.path)).toBe('kurrentdb://penstock@one:2113,two:2113?tls=true')
  expect(readServerAddress(dir.market)).toBe(readServerAddress(dir.path))
  expect(isStoreInServer(dir, at('kurrentdb://penstock:new@one:2113,two:2113?tls=true'), withoutFacts)).toBe(true)
  expect(() => isStoreInServer(dir, at(''), withoutFacts)).toThrow(
    /are in the event store at kurrentdb:\/\/penstock@one.*set PENSTOCK_EVENT_STORE/,
  )
  expect(() => isStoreInServer(dir, at('kurrentdb://three:2113'), withoutFacts)).toThrow(/If the same store has moved/)
  expect(() => openLocalStore(dir.path)).toThrow(/are in the event store at kurrentdb/)
  await expect(openStoreAt(dir.path)).rejects.toThrow(/without a password/)
})

test('a server is refused for a folder with facts in market.db, and PostgreSQL for a market in one process', () => {
  const dir = folder()
  expect(isStoreInServer(dir, at(''), true)).toBe(false)
  expect(() => isStoreInServer(dir, at(KURRENT), true)).toThrow(/are in its market\.db/)
  expect(() => isStoreInServer(dir, at('postgres://one/penstock'), withoutFacts)).toThrow(/has to be a kurrentdb:\/\/ url/)
  expect(readServerAddress(dir.path)).toBeUndefined()
})
