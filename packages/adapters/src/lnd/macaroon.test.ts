import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { beyondRole, shortOfRole } from './bake.ts'
import { allowances } from './macaroon.ts'
import { macaroonOf } from './macaroons.contract.ts'
import { permissions, ROLES, roleOf } from './permissions.ts'

test('tells what a macaroon allows', () => {
  expect(allowances(macaroonOf(['info', 'read'], ['offchain', 'read', 'write']))).toEqual([
    'info:read',
    'offchain:read',
    'offchain:write',
  ])
  for (const wrong of [
    Buffer.alloc(0),
    Buffer.from('hello'),
    Buffer.of(2, 0),
    Buffer.of(2, 2, 1, 9),
    Buffer.of(2, 255, 255, 255, 255, 255, 255),
  ])
    expect(() => allowances(wrong)).toThrow(RangeError)
})

test('names what is beyond a role', () => {
  const [first] = permissions.reader
  expect(beyondRole([`uri:${first}`, 'info:read'], 'reader')).toEqual(['info:read'])
})

test('names what a role lacks', () => {
  const [first, ...others] = permissions.reader.map((uri) => `uri:${uri}`)
  expect(shortOfRole(others, 'reader')).toEqual([first])
  expect(shortOfRole([`${first}`, ...others], 'reader')).toEqual([])
})

test('every process has a role, and the one that has all services that of settlement', () => {
  expect(['settlement', 'standalone', 'channel-watcher', 'gateway', 'quote', 'matching', 'order'].map(roleOf)).toEqual([
    'settlement',
    'settlement',
    'channel-watcher',
    'reader',
    'reader',
    'reader',
    'reader',
  ])
  for (const role of ['channel-watcher', 'reader'] as const)
    expect(permissions.settlement).toEqual(expect.arrayContaining([...permissions[role]]))
})

test('the guide lists the calls of every role', () => {
  const guide = readFileSync(new URL('../../../../docs/guides/lnd.md', import.meta.url), 'utf8')
  for (const role of ROLES) {
    const section = guide.split(`### ${role}\n`)[1]?.split('\n#')[0] ?? ''
    expect([...section.matchAll(/`(\/[\w./]+)`/g)].map(([, call]) => call)).toEqual(permissions[role])
  }
})
