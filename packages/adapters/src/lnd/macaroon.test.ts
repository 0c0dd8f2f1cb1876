import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readMacaroonPermissions } from './macaroon.ts'
import { encodeMacaroon } from './macaroon.fixture.ts'
import { findExcessPermissions, findMissingPermissions, MACAROON_ROLES, macaroonPermissions } from './permissions.ts'

test('the permissions of a macaroon are read, and invalid bytes throw a RangeError', () => {
  expect(readMacaroonPermissions(encodeMacaroon(['info', 'read'], ['offchain', 'read', 'write']))).toEqual([
    'info:read',
    'offchain:read',
    'offchain:write',
  ])
  for (const invalid of [
    Buffer.alloc(0),
    Buffer.from('hello'),
    Buffer.of(2, 0),
    Buffer.of(2, 2, 1, 9),
    Buffer.of(2, 255, 255, 255, 255, 255, 255),
  ])
    expect(() => readMacaroonPermissions(invalid)).toThrow(RangeError)
})

test('findExcessPermissions returns the permissions that the role does not need', () => {
  const [first] = macaroonPermissions.reader
  expect(findExcessPermissions([`uri:${first}`, 'info:read'], 'reader')).toEqual(['info:read'])
})

test('findMissingPermissions returns the permissions that the role needs and the macaroon lacks', () => {
  const [first, ...rest] = macaroonPermissions.reader.map((uri) => `uri:${uri}`)
  expect(findMissingPermissions(rest, 'reader')).toEqual([first])
  expect(findMissingPermissions([`${first}`, ...rest], 'reader')).toEqual([])
})

test('the calls of settlement include the calls of all other roles of a market', () => {
  for (const role of ['channel-watcher', 'reader'] as const)
    expect(macaroonPermissions.settlement).toEqual(expect.arrayContaining([...macaroonPermissions[role]]))
})

test('the guide lists the calls of every role', () => {
  const guide = readFileSync(new URL('../../../../docs/guides/lnd.md', import.meta.url), 'utf8')
  for (const role of MACAROON_ROLES) {
    const section = guide.split(`### ${role}\n`)[1]?.split('\n#')[0] ?? ''
    expect([...section.matchAll(/`(\/[\w./]+)`/g)].map(([, call]) => call)).toEqual(macaroonPermissions[role])
  }
})
