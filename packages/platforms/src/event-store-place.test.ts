import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDataDir } from './data-dir.ts'
import { keepsStore, serverOf } from './event-store-place.ts'
import { openAnywhere, openStored } from './stored.ts'

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'penstock-place-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return openDataDir(path)
}
const at = (eventStore: string) => ({ eventStore })
const KURRENT = 'kurrentdb://penstock:secret@one:2113,two:2113?tls=true'
const none = false

test('a folder keeps the store that it began with, and its address without the password', async () => {
  const dir = folder()
  expect(keepsStore(dir, at(KURRENT), none)).toBe(true)
  expect(readFileSync(join(dir.path, 'event-store.url'), 'utf8')).not.toContain('secret')
  expect(serverOf(dir.path)).toBe('kurrentdb://penstock@one:2113,two:2113?tls=true')
  expect(serverOf(dir.market)).toBe(serverOf(dir.path))
  expect(keepsStore(dir, at('kurrentdb://penstock:new@one:2113,two:2113?tls=true'), none)).toBe(true)
  expect(() => keepsStore(dir, at(''), none)).toThrow(
    /are in the event store at kurrentdb:\/\/penstock@one.*set PENSTOCK_EVENT_STORE/,
  )
  expect(() => keepsStore(dir, at('kurrentdb://three:2113'), none)).toThrow(/If the same store has moved/)
  expect(() => openStored(dir.path)).toThrow(/are in the event store at kurrentdb/)
  await expect(openAnywhere(dir.path)).rejects.toThrow(/without a password/)
})

test('a folder with facts of its own takes no server, and PostgreSQL is none for one process', () => {
  const dir = folder()
  expect(keepsStore(dir, at(''), true)).toBe(false)
  expect(() => keepsStore(dir, at(KURRENT), true)).toThrow(/are in its market\.db/)
  expect(() => keepsStore(dir, at('postgres://one/penstock'), none)).toThrow(/has to be a kurrentdb:\/\/ url/)
  expect(serverOf(dir.path)).toBeUndefined()
})
