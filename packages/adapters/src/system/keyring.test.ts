import { createHash, createHmac } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deriveDecisionKey } from '@penstock/config/decision-proof.ts'
import { proveRefund } from '@penstock/config/refund-proof.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileKeyring } from './keyring.ts'

const scope = { network: 'regtest', environment: 'default' }
const order = '018f3c1e-0000-7000-8000-000000000001'
let folder = ''
const path = (): string => join(folder, 'keyring.json')
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'keyring-'))))
afterEach(() => rmSync(folder, { recursive: true }))

test('the first start creates a key that only the owner can read, and later starts use it', () => {
  const first = fileKeyring(folder, scope).paymentHashOf(order, 1)
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toEqual(['keyring.json'])
  expect(fileKeyring(folder, scope).paymentHashOf(order, 1)).toEqual(first)
})

test('the hash belongs to the preimage, which is an HMAC of the scope, the order and the issue', () => {
  const key = 'ab'.repeat(32)
  writeFileSync(path(), JSON.stringify({ current: 'a', keys: { a: key } }))
  const keyring = fileKeyring(folder, scope)
  const preimage = keyring.preimageOf('a', order, 1)
  const hmacInput = `["penstock/hold/v1","regtest","default","${order}",1]`
  expect(preimage).toBe(createHmac('sha256', Buffer.from(key, 'hex')).update(hmacInput).digest('hex'))
  expect(keyring.paymentHashOf(order, 1)).toEqual({
    keyId: 'a',
    paymentHash: createHash('sha256').update(Buffer.from(preimage, 'hex')).digest('hex'),
  })
})

test('order, issue, network and environment each change the hash, even if their concatenation is equal', () => {
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

test('old keys stay usable, and new hashes use the current key', () => {
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
])('an invalid file stops the start and is not replaced: %s', (text) => {
  writeFileSync(path(), text)
  expect(() => fileKeyring(folder, scope)).toThrow('is not a keyring')
  expect(readFileSync(path(), 'utf8')).toBe(text)
})

test('a keyring that others can read gets mode 0600, and a private keyring keeps its mode for read-only mounts', () => {
  fileKeyring(folder, scope)
  chmodSync(path(), 0o644)
  fileKeyring(folder, scope)
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  chmodSync(path(), 0o400)
  fileKeyring(folder, scope)
  expect(statSync(path()).mode & 0o777).toBe(0o400)
})

test('a running process finds a key that was added later, and its known keys neither change nor disappear', () => {
  const write = (current: string, keys: Record<string, string>) => writeFileSync(path(), JSON.stringify({ current, keys }))
  const [a, b] = ['ab'.repeat(32), 'cd'.repeat(32)]
  write('a', { a })
  const running = fileKeyring(folder, scope)
  const old = running.preimageOf('a', order, 1)
  expect(() => running.preimageOf('b', order, 1)).toThrow(Fault)
  writeFileSync(path(), '{"current":"b","ke')
  expect(() => running.preimageOf('b', order, 1)).toThrow(Fault)
  write('b', { a: b, b })
  const restarted = fileKeyring(folder, scope)
  expect(running.preimageOf('b', order, 1)).toBe(restarted.preimageOf('b', order, 1))
  expect(running.preimageOf('a', order, 1)).toBe(old)
  expect([running, restarted].map((keyring) => keyring.paymentHashOf(order, 1).keyId)).toEqual(['a', 'b'])
})

test('the preimage of an order and the decision key prove an invoice of its buyer', () => {
  const [a, b] = ['ab'.repeat(32), 'cd'.repeat(32)]
  writeFileSync(path(), JSON.stringify({ current: 'b', keys: { a, b } }))
  const keyring = fileKeyring(folder, scope)
  const refund = { orderId: order, request: 'lnbcrt1' }
  for (const key of [keyring.preimageOf('a', order, 1), keyring.preimageOf('b', order, 1), deriveDecisionKey(a)])
    expect(keyring.isProvenRefund(refund, proveRefund(key, refund))).toBe(true)
  const ofAnotherOrder = keyring.preimageOf('b', `${order.slice(0, -1)}2`, 1)
  for (const key of [ofAnotherOrder, a, b]) expect(keyring.isProvenRefund(refund, proveRefund(key, refund))).toBe(false)
})
