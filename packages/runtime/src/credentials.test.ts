import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  checkoutToken,
  hashCredential,
  hashEmail,
  isCredential,
  isSame,
  loginChallenge,
  newCredential,
  readLoginChallenge,
  shownParts,
} from './credentials.ts'

const ids = { uuid: randomUUID, random: (bytes: number) => new Uint8Array(randomBytes(bytes)) }
const pepper = new Uint8Array(32).fill(7)
const other = new Uint8Array(32).fill(8)
const pubkey = `02${'ab'.repeat(32)}`

test('a credential says what it opens and finds its own typing errors', () => {
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
  expect(shownParts(key)).toEqual({ prefix: key.slice(0, 8), suffix: key.slice(-4) })
})
test('hashes depend on the pepper and on what they are for', () => {
  const hashes = [hashCredential(pepper, 'a@b.c'), hashCredential(other, 'a@b.c'), hashEmail(pepper, 'a@b.c')]
  expect(new Set(hashes).size).toBe(3)
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(hashEmail(pepper, ' Ann@Example.ORG ')).toBe(hashEmail(pepper, 'ann@example.org'))
})
test("a page's token can be made again and shows nothing of the order", () => {
  const token = checkoutToken(pepper, 'order-1')
  expect(token).toBe(checkoutToken(pepper, 'order-1'))
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(token).not.toBe(checkoutToken(pepper, 'order-2'))
})
test('a log-in challenge is believed only as it was sealed, for its node', () => {
  const challenge = loginChallenge(pepper, { pubkey, expiresAt: 1_800_000_000_000 }, ids)
  expect(challenge.length).toBeLessThanOrEqual(256)
  expect(readLoginChallenge(pepper, pubkey, challenge)).toBe(1_800_000_000_000)
  expect(readLoginChallenge(other, pubkey, challenge)).toBeUndefined()
  expect(readLoginChallenge(pepper, pubkey.replace('02', '03'), challenge)).toBeUndefined()
  expect(readLoginChallenge(pepper, pubkey, challenge.replace('1800', '1900'))).toBeUndefined()
  expect(readLoginChallenge(pepper, pubkey, 'x')).toBeUndefined()
})
test('secrets are compared whole', () => {
  expect([isSame('abc', 'abc'), isSame('abc', 'abd'), isSame('abc', 'ab')]).toEqual([true, false, false])
})
