import type { Ids } from '@penstock/ports/clock.ts'
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * The operator's secret key for hashing credentials. A credential is shown once and never stored. Tables and facts contain
 * its HMAC under the pepper, so a stolen database gives no access.
 */
export type Pepper = Uint8Array

/**
 * The prefix shows the scope of a credential: a buyer's session, one order, the dashboard, an account's API, or the payments of
 * a sandbox or live environment.
 */
export type CredentialPrefix = 'psk_' | 'pok_' | 'pdt_' | 'pak_' | 'psb_' | 'plv_'

const SECRET_BYTES = 32
const SHAPE = /^(p(?:sk|ok|dt|ak|sb|lv)_[\w-]{43})([0-9a-f]{8})$/
const SERVICE_KEY_PREFIX = /^p(?:sb|lv)_/

/** A new credential: 256 random bits between the prefix and a checksum, which detects truncation and typing errors. */
export function newCredential(prefix: CredentialPrefix, ids: Ids): string {
  const body = prefix + Buffer.from(ids.random(SECRET_BYTES)).toString('base64url')
  return body + computeChecksum(body)
}

/** @returns whether prefix, length and checksum are valid, so that an invalid text costs no query */
export function isCredential(text: string): boolean {
  const [, body, sum] = SHAPE.exec(text) ?? []
  return body !== undefined && sum === computeChecksum(body)
}

/** @returns whether the text has the shape of a service API key */
export const isServiceKey = (text: string): boolean => SERVICE_KEY_PREFIX.test(text) && isCredential(text)

const computeChecksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** The parts of a key that its owner sees later: enough to distinguish keys, and too little to guess a key. */
export const visibleParts = (credential: string): { readonly prefix: string; readonly suffix: string } => ({
  prefix: credential.slice(0, 8),
  suffix: credential.slice(-4),
})

/** @returns the hash under which a credential is stored, in hex */
export const hashCredential = (pepper: Pepper, credential: string): string =>
  computeHmac(pepper, 'credential', credential).toString('hex')

/** Hashes an e-mail address without regard to case. @returns the id of its claim, in hex */
export const hashEmail = (pepper: Pepper, email: string): string =>
  computeHmac(pepper, 'email', email.normalize('NFC').trim().toLowerCase()).toString('hex')

/** The token in the URL of an order's page. It is derived again for each use and never reveals the order's id. */
export const deriveCheckoutToken = (pepper: Pepper, orderId: string): string =>
  computeHmac(pepper, 'checkout', orderId).toString('base64url')

/**
 * Creates a challenge for a log-in by a Lightning node. The challenge contains its own seal and expiry, so the server stores
 * no data for unknown callers. The account's stream ensures that each challenge is used only once.
 */
export function createLoginChallenge(
  pepper: Pepper,
  { pubkey, expiresAt }: { readonly pubkey: string; readonly expiresAt: number },
  ids: Ids,
): string {
  const text = `penstock log-in 1 ${pubkey} ${expiresAt} ${Buffer.from(ids.random(16)).toString('hex')}`
  return `${text} ${computeSeal(pepper, text)}`
}

/** @returns the challenge's expiry (milliseconds since 1970); undefined if its seal is invalid or it is for another node */
export function readLoginChallenge(pepper: Pepper, pubkey: string, challenge: string): number | undefined {
  const [, text, key, expiresAt, seal] =
    /^(penstock log-in 1 ([0-9a-f]{66}) (\d{1,16}) [0-9a-f]{32}) ([\w-]{43})$/.exec(challenge) ?? []
  if (text === undefined || seal === undefined || key !== pubkey) return undefined
  return isSameSecret(seal, computeSeal(pepper, text)) ? Number(expiresAt) : undefined
}

const computeSeal = (pepper: Pepper, text: string): string => computeHmac(pepper, 'login', text).toString('base64url')

/** Compares secrets in a time that does not depend on where they differ. */
export const isSameSecret = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Cached, because the creation of a key object takes longer than an HMAC. */
const keyObjects = new WeakMap<Pepper, KeyObject>()

function keyObjectOf(pepper: Pepper): KeyObject {
  const known = keyObjects.get(pepper) ?? createSecretKey(pepper)
  keyObjects.set(pepper, known)
  return known
}

/** A keyed hash. Its input begins with the use, so that a hash for one use never matches a hash for another use. */
export const computeHmac = (pepper: Pepper, use: string, text: string): Buffer =>
  createHmac('sha256', keyObjectOf(pepper)).update(`penstock/${use}/v1\n${text}`).digest()
