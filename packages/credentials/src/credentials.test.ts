import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  deriveCheckoutToken,
  hashCredential,
  hashEmail,
  isCredential,
  isServiceKey,
  isSameSecret,
  createLoginChallenge,
  newCredential,
  readLoginChallenge,
  visibleParts,
} from './credentials.ts'

const ids = { uuid: randomUUID, random: (bytes: number) => new Uint8Array(randomBytes(bytes)) }
const pepper = new Uint8Array(32).fill(7)
const other = new Uint8Array(32).fill(8)
const pubkey = `02${'ab'.repeat(32)}`

test('a credential has the prefix of its scope and a checksum that detects typing errors', () => {
  const key = newCredential('pak_', ids)
  expect(key).toMatch(/^pak_[\w-]{43}[0-9a-f]{8}$/)
  expect(isCredential(key)).toBe(true)
  expect(new Set(Array.from({ length: 100 }, () => newCredential('psk_', ids))).size).toBe(100)
  const wrong = [
    key.slice(1),
    key.slice(0, -1),
    `${key}0`,
    key.replace('pak_', 'psk_'),
    `${key.slice(0, 10)}${key[10] === 'A' ? 'B' : 'A'}${key.slice(11)}`,
    '',
  ]
  expect(wrong.filter(isCredential)).toEqual([])
  expect(visibleParts(key)).toEqual({ prefix: key.slice(0, 8), suffix: key.slice(-4) })
})
test('the prefix of a service API key distinguishes it from the credentials of an account', () => {
  const keys = (['psb_', 'plv_', 'pak_', 'pdt_'] as const).map((prefix) => newCredential(prefix, ids))
  expect(keys.map(isCredential)).toEqual([true, true, true, true])
  expect(keys.map(isServiceKey)).toEqual([true, true, false, false])
  expect(keys.map((key) => isServiceKey(`${key}0`))).toEqual([false, false, false, false])
})
test('a hash depends on the pepper and on the kind of its text', () => {
  const hashes = [hashCredential(pepper, 'a@b.c'), hashCredential(other, 'a@b.c'), hashEmail(pepper, 'a@b.c')]
  expect(new Set(hashes).size).toBe(3)
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(hashEmail(pepper, ' Ann@Example.ORG ')).toBe(hashEmail(pepper, 'ann@example.org'))
})
test('a checkout token is the same at each derivation and differs between orders', () => {
  const token = deriveCheckoutToken(pepper, 'order-1')
  expect(token).toBe(deriveCheckoutToken(pepper, 'order-1'))
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(token).not.toBe(deriveCheckoutToken(pepper, 'order-2'))
})
test('a log-in challenge is accepted only unchanged, for its own node and pepper', () => {
  const challenge = createLoginChallenge(pepper, { pubkey, expiresAt: 1_800_000_000_000 }, ids)
  expect(challenge.length).toBeLessThanOrEqual(256)
  expect(readLoginChallenge(pepper, pubkey, challenge)).toBe(1_800_000_000_000)
  expect(readLoginChallenge(other, pubkey, challenge)).toBeUndefined()
  expect(readLoginChallenge(pepper, pubkey.replace('02', '03'), challenge)).toBeUndefined()
  expect(readLoginChallenge(pepper, pubkey, challenge.replace('1800', '1900'))).toBeUndefined()
  expect(readLoginChallenge(pepper, pubkey, 'x')).toBeUndefined()
})
test('two secrets are the same only if all of their characters are equal', () => {
  expect([isSameSecret('abc', 'abc'), isSameSecret('abc', 'abd'), isSameSecret('abc', 'ab')]).toEqual([true, false, false])
})
