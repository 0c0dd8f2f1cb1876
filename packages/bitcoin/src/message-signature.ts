import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, hash256 } from './hex.ts'

/** lnd's `signmessage` and `verifymessage`: zbase32 of a recoverable ECDSA signature. */

const PREFIX = 'Lightning Signed Message:'
const ALPHABET = 'ybndrfg8ejkmcpqxot1uwisza345h769'
const SIGNATURE_BYTES = 65
// The header byte of a compact signature is 27, plus 4 for a compressed key, plus the recovery id.
const HEADER = 31

const digest = (text: string): Uint8Array => hash256(new TextEncoder().encode(PREFIX + text))

export function signMessage(secretKey: Uint8Array, text: string): string {
  const signature = secp256k1.sign(digest(text), secretKey, { prehash: false, format: 'recovered' })
  const recovery = signature[0] ?? 0
  return toZbase32(Uint8Array.of(HEADER + recovery, ...signature.subarray(1)))
}

/** Keys by signature and text. Several services check the same signature in turn, and the recovery is their slowest step. */
const recoveredCache = new Map<string, string>()
const MAX_RECOVERED_CACHE = 1000

/** @returns the signer's key; undefined for a malformed signature. A changed text gives another key, so compare the key. */
export function recoverPubkey(text: string, signature: string): string | undefined {
  // A line break is an unambiguous separator, because a signature that contains one is malformed and never cached.
  const cacheKey = `${signature}\n${text}`
  const known = recoveredCache.get(cacheKey)
  if (known !== undefined) return known
  const key = recoverUncached(text, signature)
  if (key === undefined) return undefined
  if (recoveredCache.size >= MAX_RECOVERED_CACHE) recoveredCache.clear()
  recoveredCache.set(cacheKey, key)
  return key
}

function recoverUncached(text: string, signature: string): string | undefined {
  const bytes = fromZbase32(signature)
  const recovery = (bytes?.[0] ?? 0) - HEADER
  if (bytes?.length !== SIGNATURE_BYTES || recovery < 0 || recovery > 3) return undefined
  try {
    return bytesToHex(secp256k1.recoverPublicKey(Uint8Array.of(recovery, ...bytes.subarray(1)), digest(text), { prehash: false }))
  } catch {
    return undefined // The numbers are no valid signature.
  }
}

function toZbase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

function fromZbase32(text: string): Uint8Array | undefined {
  if (text.length !== (SIGNATURE_BYTES * 8) / 5) return undefined
  const digits = Array.from(text, (letter) => ALPHABET.indexOf(letter))
  if (digits.includes(-1)) return undefined
  const bits = digits.map((digit) => digit.toString(2).padStart(5, '0')).join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}
