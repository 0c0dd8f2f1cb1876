import { sha3_256 } from '@noble/hashes/sha3.js'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const VERSION = 3

/**
 * Checks the name of an onion service in lower case. A name of version 3 contains its key, a checksum and the version, so that a
 * mistyped name is found without Tor (rend-spec-v3, section 6). A name of version 2 has no checksum.
 */
export function isOnionName(name: string): boolean {
  const [, label = ''] = /^([a-z2-7]{16}|[a-z2-7]{56})\.onion$/.exec(name) ?? []
  if (label.length !== 56) return label !== ''
  const bytes = decodeBase32(label)
  const [pubkey, checksum] = [bytes.subarray(0, 32), bytes.subarray(32, 34)]
  const expected = sha3_256(Uint8Array.of(...new TextEncoder().encode('.onion checksum'), ...pubkey, VERSION))
  return bytes[34] === VERSION && checksum[0] === expected[0] && checksum[1] === expected[1]
}

/** Decodes base32 (RFC 4648) of whole bytes, without padding. */
function decodeBase32(text: string): Uint8Array {
  const bits = Array.from(text, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}
