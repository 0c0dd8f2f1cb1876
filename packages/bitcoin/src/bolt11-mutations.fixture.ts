import { secp256k1 } from '@noble/curves/secp256k1.js'
import { createSignedRequest } from 'invoices'
import { createHash } from 'node:crypto'
import { encodePaymentRequest, type NewPaymentRequest } from './bolt11.ts'
import { splitRequest, toWords, wordsToNumber, type TaggedField } from './bolt11-words.ts'
import { bytesToHex } from './hex.ts'
import { derivePubkey } from './pubkey.ts'

const SECRET_KEY = new Uint8Array(32).fill(7)

/** Signs a request with any prefix and fields, as a payee with another encoder could. @param tail words after the last field */
function signFields(prefix: string, timestamp: readonly number[], fields: readonly TaggedField[], tail: readonly number[] = []) {
  const tags = [
    ...timestamp,
    ...fields.flatMap(({ tag, words }) => [...toWords(tag), words.length >> 5, words.length & 31, ...words]),
    ...tail,
  ]
  const bits = (tags.length * 5) % 8
  const value = wordsToNumber(tags) << BigInt(bits === 0 ? 0 : 8 - bits)
  const data = Buffer.from(value.toString(16).padStart(Math.ceil((tags.length * 5) / 8) * 2, '0'), 'hex')
  const hash = createHash('sha256').update(prefix).update(data).digest()
  const signature = bytesToHex(secp256k1.sign(hash, SECRET_KEY, { prehash: false }))
  return createSignedRequest({ destination: derivePubkey(SECRET_KEY), hrp: prefix, signature, tags }).request
}

/** The words of a number, in as many words as it needs. */
const numberWords = (value: number): readonly number[] =>
  value < 32 ? [value] : [...numberWords(Math.floor(value / 32)), value % 32]

/** The words of these feature bits. */
const featureWords = (...bits: readonly number[]): readonly number[] => {
  const words = Array.from({ length: Math.floor(Math.max(...bits) / 5) + 1 }, () => 0)
  for (const bit of bits) words[words.length - 1 - Math.floor(bit / 5)]! |= 1 << (bit % 5)
  return words
}

export type Mutation = {
  readonly name: string
  readonly prefix?: string
  readonly change?: (fields: readonly TaggedField[]) => readonly TaggedField[]
  readonly tail?: readonly number[]
}

const field = (tag: string, words: readonly number[]): TaggedField => ({ tag, words })
const without = (tag: string, fields: readonly TaggedField[]) => fields.filter((one) => one.tag !== tag)
const replaced = (tag: string, words: readonly number[]) => (fields: readonly TaggedField[]) => [
  ...without(tag, fields),
  field(tag, words),
]
const repeat = (length: number, word = 1): readonly number[] => Array.from({ length }, () => word)

/** Invoices that decoders may read differently. */
export const ambiguous: readonly Mutation[] = [
  { name: 'c=2000, c=18', change: (all) => [...without('c', all), field('c', numberWords(2000)), field('c', numberWords(18))] },
  {
    name: 'x=60, x=604800',
    change: (all) => [...without('x', all), field('x', numberWords(60)), field('x', numberWords(604_800))],
  },
  ...['p', 's', 'd', '9'].map((tag) => ({
    name: `${tag} twice`,
    change: (all: readonly TaggedField[]) => [...all, ...all.filter((one) => one.tag === tag)],
  })),
  { name: 'p of a wrong length before p', change: (all) => [field('p', repeat(51)), ...all] },
  { name: 'p of a wrong length alone', change: replaced('p', repeat(53)) },
  { name: 's of a wrong length alone', change: replaced('s', repeat(51)) },
  { name: 'h of a wrong length beside d', change: (all) => [...all, field('h', repeat(51))] },
  { name: 'n of a wrong length', change: (all) => [...all, field('n', repeat(52))] },
  { name: 'a blinded path', change: (all) => [...all, field('5', repeat(80))] },
  { name: 'x without a value', change: replaced('x', []) },
  { name: 'c without a value', change: replaced('c', []) },
  { name: 'c=0', change: replaced('c', [0]) },
  { name: 'x of 14 words', change: replaced('x', [...repeat(13, 0), 9]) },
  { name: 'an expiry beyond ten years', change: replaced('x', numberWords(11 * 365 * 86_400)) },
  { name: 'a description with a loose word', change: replaced('d', repeat(3)) },
  { name: 'a description with loose bits', change: replaced('d', [12, 1]) },
  { name: 'a description of no UTF-8', change: replaced('d', [31, 28]) },
  { name: 'a hash with loose bits', change: replaced('p', repeat(52)) },
  { name: 'a route hint of half a hop', change: (all) => [...all, field('r', repeat(40, 0))] },
  { name: 'a route hint without a node', change: (all) => [...all, field('r', repeat(82, 0))] },
  { name: 'a route hint without hops', change: (all) => [...all, field('r', [])] },
  { name: 'a fallback address of a wrong length', change: (all) => [...all, field('f', [17, ...repeat(30)])] },
  { name: 'a short taproot address', change: (all) => [...all, field('f', [1, ...repeat(10, 0)])] },
  { name: 'a fallback address with loose bits', change: (all) => [...all, field('f', [0, ...repeat(52)])] },
  { name: 'an empty fallback address', change: (all) => [...all, field('f', [])] },
  { name: 'the unknown required feature 100', change: replaced('9', featureWords(8, 14, 100)) },
  { name: 'the required feature of atomic parts', change: replaced('9', featureWords(8, 14, 30)) },
  { name: 'features 14 and 15', change: replaced('9', featureWords(8, 14, 15)) },
  { name: 'feature 14 without 8', change: replaced('9', featureWords(14)) },
  { name: 'feature 17 without 14', change: replaced('9', featureWords(8, 17)) },
  { name: 'a last field that is cut', tail: [1, 0, 9, 1] },
  { name: 'an amount of zero', prefix: 'lnbcrt0u' },
  { name: 'an amount with a leading zero', prefix: 'lnbcrt050u' },
  { name: 'a part of a millisatoshi', prefix: 'lnbcrt50000001p' },
]

/** Invoices that all decoders read alike. */
export const unambiguous: readonly Mutation[] = [
  { name: 'no change' },
  { name: 'an amount in picobitcoin', prefix: 'lnbcrt50000010p' },
  { name: 'fields in another order', change: (all) => all.toReversed() },
  { name: 'no expiry and no delta', change: (all) => without('x', without('c', all)) },
  { name: 'an empty description', change: replaced('d', []) },
  { name: 'leading zeros', change: (all) => [...without('c', all), field('c', [0, 0, 5, 8])] },
  { name: 'an unknown field', change: (all) => [...all, field('y', repeat(7))] },
  { name: 'optional features', change: replaced('9', featureWords(9, 15, 17, 149)) },
  { name: 'required features', change: replaced('9', featureWords(8, 14, 16, 48)) },
  { name: 'two fallback addresses', change: (all) => [...all, field('f', [17, ...repeat(32)]), field('f', [0, ...repeat(32)])] },
]

const base: NewPaymentRequest = {
  network: 'regtest',
  paymentHash: 'ab'.repeat(32),
  paymentSecret: 'cd'.repeat(32),
  amountMsat: 5_000_000n,
  createdAt: 1_795_000_000_000,
  expirySeconds: 604_800,
  cltvDelta: 80,
  description: 'a payout',
}

export function mutate({ prefix, change = (fields) => fields, tail }: Mutation): string {
  const split = splitRequest(encodePaymentRequest(base, SECRET_KEY))
  return signFields(prefix ?? split.prefix, split.timestamp, change(split.fields ?? []), tail)
}
