import { createHash, createHmac } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '@penstock/kernel/result.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileKeyring } from './keyring.ts'

const scope = { network: 'regtest', environment: 'default' }
const order = '018f3c1e-0000-7000-8000-000000000001'
let folder = ''
const path = (): string => join(folder, 'keyring.json')
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'keyring-'))))
afterEach(() => rmSync(folder, { recursive: true }))

test('the first start makes a key that only its owner reads, later ones keep it', () => {
  const first = fileKeyring(folder, scope).paymentHashOf(order, 1)
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toEqual(['keyring.json'])
  expect(fileKeyring(folder, scope).paymentHashOf(order, 1)).toEqual(first)
})

test('the hash is that of the preimage, and the preimage is the HMAC of what it is for', () => {
  const key = 'ab'.repeat(32)
  writeFileSync(path(), JSON.stringify({ current: 'a', keys: { a: key } }))
  const keyring = fileKeyring(folder, scope)
  const preimage = keyring.preimageOf('a', order, 1)
  const about = `["penstock/hold/v1","regtest","default","${order}",1]`
  expect(preimage).toBe(createHmac('sha256', Buffer.from(key, 'hex')).update(about).digest('hex'))
  expect(keyring.paymentHashOf(order, 1)).toEqual({
    keyId: 'a',
    paymentHash: createHash('sha256').update(Buffer.from(preimage, 'hex')).digest('hex'),
  })
})

test('order, issue, network and environment all count, and cannot be moved into each other', () => {
  const hash = (network: string, environment: string, id: string, issue: number): string =>
    fileKeyring(folder, { network, environment }).paymentHashOf(id, issue).paymentHash
  const hashes = [
    hash('regtest', 'default', order, 1),
    hash('regtest', 'default', order, 2),
    hash('mainnet', 'default', order, 1),
    hash('regtest', 'other', order, 1),
    hash('regtest', 'def', `ault${order}`, 1),
    hash('regtest', 'default","x', order, 1),
  ]
  expect(new Set(hashes).size).toBe(hashes.length)
})

test('old keys stay usable, new hashes are made with the current one', () => {
  const old = fileKeyring(folder, scope).paymentHashOf(order, 1)
  const { keys } = JSON.parse(readFileSync(path(), 'utf8')) as { keys: Record<string, string> } // this test's own file
  writeFileSync(path(), JSON.stringify({ current: 'new', keys: { ...keys, new: 'cd'.repeat(32) } }))
  const keyring = fileKeyring(folder, scope)
  const preimage = keyring.preimageOf(old.keyId, order, 1)
  expect(createHash('sha256').update(Buffer.from(preimage, 'hex')).digest('hex')).toBe(old.paymentHash)
  expect(keyring.paymentHashOf(order, 1).keyId).toBe('new')
  expect(() => keyring.preimageOf('gone', order, 1)).toThrow('put it back')
})

test.each([
  '',
  '{}',
  '{"current":"a","keys":{}}',
  '{"current":"a","keys":{"a":"abc"}}',
  'null',
  '{"current":"a","keys":{"a":7}}',
])('a broken file stops the start and is not replaced: %s', (text) => {
  writeFileSync(path(), text)
  expect(() => fileKeyring(folder, scope)).toThrow('is no keyring')
  expect(readFileSync(path(), 'utf8')).toBe(text)
})

test('a keyring that others could read is closed; one that is closed is not touched, for it may be mounted read-only', () => {
  fileKeyring(folder, scope)
  chmodSync(path(), 0o644)
  fileKeyring(folder, scope)
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  chmodSync(path(), 0o400)
  fileKeyring(folder, scope)
  expect(statSync(path()).mode & 0o777).toBe(0o400)
})

test('a key that was added since is found by who runs on; what is known already neither changes nor goes away', () => {
  const write = (current: string, keys: Record<string, string>) => writeFileSync(path(), JSON.stringify({ current, keys }))
  const [a, b] = ['ab'.repeat(32), 'cd'.repeat(32)]
  write('a', { a })
  const runsOn = fileKeyring(folder, scope)
  const old = runsOn.preimageOf('a', order, 1)
  expect(() => runsOn.preimageOf('b', order, 1)).toThrow(Fault)
  writeFileSync(path(), '{"current":"b","ke')
  expect(() => runsOn.preimageOf('b', order, 1)).toThrow(Fault)
  write('b', { a: b, b })
  const startedSince = fileKeyring(folder, scope)
  expect(runsOn.preimageOf('b', order, 1)).toBe(startedSince.preimageOf('b', order, 1))
  expect(runsOn.preimageOf('a', order, 1)).toBe(old)
  expect([runsOn, startedSince].map((keyring) => keyring.paymentHashOf(order, 1).keyId)).toEqual(['a', 'b'])
})
