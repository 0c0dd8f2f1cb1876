import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, hash256 } from './hex.ts'

/** lnd's `signmessage` and `verifymessage`: zbase32 of a recoverable ECDSA signature. */

const PREFIX = 'Lightning Signed Message:'
const ALPHABET = 'ybndrfg8ejkmcpqxot1uwisza345h769'
const SIGNATURE_BYTES = 65
// The header byte of a compact signature says 27, plus 4 for a compressed key, plus the recovery id.
const HEADER = 31

const digest = (text: string): Uint8Array => hash256(new TextEncoder().encode(PREFIX + text))

export function sign(secretKey: Uint8Array, text: string): string {
  const signature = secp256k1.sign(digest(text), secretKey, { prehash: false, format: 'recovered' })
  const recovery = signature[0] ?? 0
  return zbase32(Uint8Array.of(HEADER + recovery, ...signature.subarray(1)))
}

/** What is signed is looked at by several, one after the other, and a look takes longer than all else that they do with it. */
const recovered = new Map<string, string>()
const RECOVERED_KEPT = 1000

/** @returns the key that made the signature, undefined where it is malformed. A changed text gives another key: compare it. */
export function recover(text: string, signature: string): string | undefined {
  // A signature has no line breaks, else it is malformed, and what is malformed is not kept.
  const name = `${signature}\n${text}`
  const known = recovered.get(name)
  if (known !== undefined) return known
  const key = recoverNow(text, signature)
  if (key === undefined) return undefined
  if (recovered.size >= RECOVERED_KEPT) recovered.clear()
  recovered.set(name, key)
  return key
}

function recoverNow(text: string, signature: string): string | undefined {
  const bytes = fromZbase32(signature)
  const recovery = (bytes?.[0] ?? 0) - HEADER
  if (bytes?.length !== SIGNATURE_BYTES || recovery < 0 || recovery > 3) return undefined
  try {
    return bytesToHex(secp256k1.recoverPublicKey(Uint8Array.of(recovery, ...bytes.subarray(1)), digest(text), { prehash: false }))
  } catch {
    return undefined // numbers that belong to no signature
  }
}

function zbase32(bytes: Uint8Array): string {
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
