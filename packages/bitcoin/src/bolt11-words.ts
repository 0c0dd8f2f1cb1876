import { hexToBytes } from './hex.ts'

/** The alphabet of bech32: a character stands for five bits. */
const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const CHECKSUM_WORDS = 6
const SIGNATURE_WORDS = 104
const TIMESTAMP_WORDS = 7

export type TaggedField = { readonly tag: string; readonly words: readonly number[] }
type RequestWords = {
  /** The part before the data: network and amount. */
  readonly prefix: string
  readonly timestamp: readonly number[]
  /** Undefined if the last field is cut. */
  readonly fields: readonly TaggedField[] | undefined
}

/** Splits a payment request into its fields. The caller has checked the checksum and the signature. */
export function splitRequest(request: string): RequestWords {
  const text = request.toLowerCase()
  const split = text.lastIndexOf('1')
  const words = toWords(text.slice(split + 1, -CHECKSUM_WORDS))
  const signed = words.slice(0, -SIGNATURE_WORDS)
  return {
    prefix: text.slice(0, split),
    timestamp: signed.slice(0, TIMESTAMP_WORDS),
    fields: splitFields(signed.slice(TIMESTAMP_WORDS)),
  }
}

/** Reads type, length and data of each field. */
function splitFields(words: readonly number[]): readonly TaggedField[] | undefined {
  const fields: TaggedField[] = []
  for (let index = 0; index < words.length;) {
    const [tag, high, low] = words.slice(index, index + 3)
    if (tag === undefined || high === undefined || low === undefined) return undefined
    const start = index + 3
    index = start + high * 32 + low
    if (index > words.length) return undefined
    fields.push({ tag: ALPHABET.charAt(tag), words: words.slice(start, index) })
  }
  return fields
}

/** Joins the words to one number, the first word being the highest. */
export const wordsToNumber = (words: readonly number[]): bigint => words.reduce((sum, word) => sum * 32n + BigInt(word), 0n)

/** @returns the bytes; undefined if bits are left that are not zero, or that are a whole word */
export function wordsToBytes(words: readonly number[]): Uint8Array | undefined {
  const left = (words.length * 5) % 8
  const value = wordsToNumber(words)
  if (left >= 5 || value % (1n << BigInt(left)) !== 0n) return undefined
  const digits = Math.floor((words.length * 5) / 8) * 2
  return hexToBytes(digits === 0 ? '' : (value >> BigInt(left)).toString(16).padStart(digits, '0'))
}

/** Reads characters of the alphabet as words. */
export const toWords = (text: string): readonly number[] => text.split('').map((character) => ALPHABET.indexOf(character))
