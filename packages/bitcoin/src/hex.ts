import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'

export { bytesToHex, hexToBytes }

/** @returns whether the text is lower-case or upper-case hex of exactly `bytes` bytes */
export const isHex = (text: string, bytes: number): boolean => text.length === 2 * bytes && /^[0-9a-f]*$/i.test(text)

export const sha256Hex = (hex: string): string => bytesToHex(sha256(hexToBytes(hex)))

/** Bitcoin's double SHA-256. */
export const hash256 = (bytes: Uint8Array): Uint8Array => sha256(sha256(bytes))

/** @returns the payment hash of a preimage, both in hex */
export const paymentHashOf = (preimage: string): string => sha256Hex(preimage)
