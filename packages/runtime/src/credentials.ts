import type { Ids } from '@penstock/ports/clock.ts'
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * What a caller shows, and what is kept of it. A credential is told once and never stored: tables and facts hold its
 * HMAC under the operator's pepper, so that a stolen database opens nothing.
 */
export type Pepper = Uint8Array

/** What a credential opens, told by its first letters: a buyer's session, one order, the dashboard, an account's API. */
export type CredentialPrefix = 'psk_' | 'pok_' | 'pdt_' | 'pak_'

const SECRET_BYTES = 32
const SHAPE = /^(p(?:sk|ok|dt|ak)_[\w-]{43})([0-9a-f]{8})$/

/** A new credential: 256 random bits between its prefix and a check sum that finds what was cut off or mistyped. */
export function newCredential(prefix: CredentialPrefix, ids: Ids): string {
  const body = prefix + Buffer.from(ids.random(SECRET_BYTES)).toString('base64url')
  return body + checkSum(body)
}

/** @returns whether this can be a credential at all: nobody has to look up what is not */
export function isCredential(text: string): boolean {
  const [, body, sum] = SHAPE.exec(text) ?? []
  return body !== undefined && sum === checkSum(body)
}

const checkSum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** What an owner sees of a key later: enough to tell keys apart, nothing to guess from. */
export const shownParts = (credential: string): { readonly prefix: string; readonly suffix: string } => ({
  prefix: credential.slice(0, 8),
  suffix: credential.slice(-4),
})

/** @returns the hash under which a credential is known, in hex */
export const hashCredential = (pepper: Pepper, credential: string): string =>
  keyed(pepper, 'credential', credential).toString('hex')

/** An address is one whatever its letters' case. @returns the id of its claim, in hex */
export const hashEmail = (pepper: Pepper, email: string): string =>
  keyed(pepper, 'email', email.normalize('NFC').trim().toLowerCase()).toString('hex')

/** The token in the address of an order's page: derived again whenever it is needed, and it never shows the order's id. */
export const checkoutToken = (pepper: Pepper, orderId: string): string => keyed(pepper, 'checkout', orderId).toString('base64url')

/**
 * A challenge for a log-in by node carries its own seal and expiry, so that nothing is stored for callers whom nobody
 * knows yet; that it is used once is kept by the account's stream.
 */
export function loginChallenge(
  pepper: Pepper,
  { pubkey, expiresAt }: { readonly pubkey: string; readonly expiresAt: number },
  ids: Ids,
): string {
  const text = `penstock log-in 1 ${pubkey} ${expiresAt} ${Buffer.from(ids.random(16)).toString('hex')}`
  return `${text} ${sealOf(pepper, text)}`
}

/** @returns when the challenge ends (milliseconds since 1970); undefined where it is not ours, or for another node */
export function readLoginChallenge(pepper: Pepper, pubkey: string, challenge: string): number | undefined {
  const [, text, key, expiresAt, seal] =
    /^(penstock log-in 1 ([0-9a-f]{66}) (\d{1,16}) [0-9a-f]{32}) ([\w-]{43})$/.exec(challenge) ?? []
  if (text === undefined || seal === undefined || key !== pubkey) return undefined
  return isSame(seal, sealOf(pepper, text)) ? Number(expiresAt) : undefined
}

const sealOf = (pepper: Pepper, text: string): string => keyed(pepper, 'login', text).toString('base64url')

/** Compares secrets in a time that does not depend on where they differ. */
export const isSame = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** To make a key of the bytes takes longer than to use it. */
const keys = new WeakMap<Pepper, KeyObject>()

function keyOf(pepper: Pepper): KeyObject {
  const known = keys.get(pepper) ?? createSecretKey(pepper)
  keys.set(pepper, known)
  return known
}

// The use stands before the text, so that a hash made for one thing never answers for another.
const keyed = (pepper: Pepper, use: string, text: string): Buffer =>
  createHmac('sha256', keyOf(pepper)).update(`penstock/${use}/v1\n${text}`).digest()
