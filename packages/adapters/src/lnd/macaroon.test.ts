import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { beyondRole } from './bake.ts'
import { allowances } from './macaroon.ts'
import { permissions, ROLES, roleOf } from './permissions.ts'

const part = (field: number, bytes: Uint8Array): Buffer => Buffer.concat([Buffer.of(field, bytes.length), bytes])
const text = (field: number, value: string): Buffer => part(field, Buffer.from(value))

/** As lnd writes one: a place, the identifier, no caveats, a signature. */
function macaroon(...operations: readonly (readonly [entity: string, ...actions: string[]])[]): Buffer {
  const listed = operations.map(([entity, ...actions]) =>
    part(0x1a, Buffer.concat([text(0x0a, entity), ...actions.map((action) => text(0x12, action))])),
  )
  const identifier = Buffer.concat([Buffer.of(3), part(0x0a, Buffer.alloc(16)), text(0x12, '0'), ...listed])
  return Buffer.concat([Buffer.of(2), text(1, 'lnd'), part(2, identifier), Buffer.of(0, 0), part(6, Buffer.alloc(32))])
}

test('tells what a macaroon allows', () => {
  expect(allowances(macaroon(['info', 'read'], ['offchain', 'read', 'write']))).toEqual([
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
