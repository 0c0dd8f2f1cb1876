import { hash } from 'node:crypto'

/** Whether an id was derived, by its UUID version. Random ids have another version. */
export const isDerivedId = (id: string): boolean => id[14] === '5'

/** The namespace of every id that Penstock derives (a random UUIDv4). */
const NAMESPACE = Buffer.from('6f1f2c0a9d5e4b7c8a3e51d0c2b47e96', 'hex')

/**
 * Derives a UUIDv5 (RFC 9562, section 5.5) from a cause. The same cause gives the same id, so that a repetition is recognised
 * wherever it arrives. The parts are joined by a character that none of them contains.
 */
export function deriveId(...parts: readonly (string | number)[]): string {
  const bytes = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(parts.join('\n'))]), 'buffer').subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x50
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
