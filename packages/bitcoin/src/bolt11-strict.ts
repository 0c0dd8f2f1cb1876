import { secp256k1 } from '@noble/curves/secp256k1.js'
import { splitRequest, wordsToBytes, wordsToNumber, type TaggedField } from './bolt11-words.ts'

/** Fields that are lists: route hints and fallback addresses. */
const LISTS = new Set(['r', 'f'])
/** Hash, secret, hash of the description, and key of the payee have fixed lengths. Nodes skip them with another length. */
const LENGTHS: Readonly<Record<string, number>> = { p: 52, s: 52, h: 52, n: 53 }
const BYTE_FIELDS = new Set(['p', 's', 'h', 'n', 'd', 'm', 'r'])
const NUMBER_FIELDS = new Set(['x', 'c'])
/** Above it, implementations differ in how they read a number. */
const MAX_NUMBER_WORDS = 10
const BLINDED_PATH = '5'
const [HOP_BYTES, KEY_BYTES] = [51, 33]
const MAX_EXPIRY_SECONDS = 10n * 365n * 86_400n

const [ONION, SECRET, PARTS, AMP, METADATA] = [8, 14, 16, 30, 48] as const
/** Features that an invoice may require of its payer. Each has an even bit, and the next bit if it is optional. */
const KNOWN_FEATURES: ReadonlySet<number> = new Set([ONION, SECRET, PARTS, METADATA])
const DEPENDENCIES: readonly (readonly [feature: number, needed: number])[] = [
  [SECRET, ONION],
  [PARTS, SECRET],
]

/**
 * Finds what another decoder may read otherwise. The payer's node has its own decoder, and of a field that stands twice it takes
 * the first, where ours takes the last.
 * @param request a payment request whose checksum and signature are right
 * @returns the fault; undefined if every decoder reads the same
 */
export function findAmbiguity(request: string): string | undefined {
  const { prefix, fields } = splitRequest(request)
  if (!fields) return 'the last field is cut'
  const tags = fields.map(({ tag }) => tag)
  // lnd then takes the delta of the path, which may be far above the one of the field.
  if (tags.includes(BLINDED_PATH)) return 'the invoice has blinded paths'
  const repeated = tags.find((tag, index) => !LISTS.has(tag) && tags.indexOf(tag) !== index)
  if (repeated !== undefined) return `the field ${repeated} stands twice`
  return findAmountFault(prefix) ?? fields.map(findFieldFault).find((fault) => fault !== undefined)
}

/** lnd has only whole amounts above zero without leading zeros; other decoders take zero for an open amount. */
function findAmountFault(prefix: string): string | undefined {
  const [, digits, unit] = /^ln[a-z]+?(?:(\d+)([munp]?))?$/.exec(prefix) ?? []
  if (digits?.startsWith('0')) return 'the amount is zero or begins with a zero'
  return unit === 'p' && !digits?.endsWith('0') ? 'the amount has a part of a millisatoshi' : undefined
}

function findFieldFault({ tag, words }: TaggedField): string | undefined {
  if (words.length !== (LENGTHS[tag] ?? words.length)) return `the field ${tag} has a wrong length`
  if (NUMBER_FIELDS.has(tag)) return findNumberFault(tag, words)
  if (tag === '9') return findFeatureFault(words)
  if (tag === 'f') return findFallbackFault(words)
  if (!BYTE_FIELDS.has(tag)) return undefined
  const bytes = wordsToBytes(words)
  if (!bytes) return `the field ${tag} has bits that belong to no byte`
  if (tag === 'r') return findHintFault(bytes)
  return tag === 'd' && !isUtf8(bytes) ? 'the description is no UTF-8' : undefined
}

function findHintFault(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || bytes.length % HOP_BYTES !== 0) return 'a route hint has a wrong length'
  for (let start = 0; start < bytes.length; start += HOP_BYTES)
    if (!secp256k1.utils.isValidPublicKey(bytes.slice(start, start + KEY_BYTES), true)) return 'a route hint names no node'
  return undefined
}

function findNumberFault(tag: string, words: readonly number[]): string | undefined {
  if (words.length > MAX_NUMBER_WORDS) return `the field ${tag} has a wrong length`
  const value = wordsToNumber(words)
  if (value === 0n) return `the field ${tag} is zero`
  return tag === 'x' && value > MAX_EXPIRY_SECONDS ? 'the expiry is beyond ten years' : undefined
}

function findFeatureFault(words: readonly number[]): string | undefined {
  const bits = words
    .toReversed()
    .flatMap((word, index) => [0, 1, 2, 3, 4].filter((bit) => (word >> bit) & 1).map((bit) => index * 5 + bit))
  const has = (feature: number): boolean => bits.includes(feature) || bits.includes(feature + 1)
  const unknown = bits.find((bit) => bit % 2 === 0 && !KNOWN_FEATURES.has(bit))
  if (unknown !== undefined) return `the feature ${unknown} is required and unknown`
  // Its payment has another hash in each part, so it is no payment of this invoice.
  if (has(AMP)) return 'the invoice is paid only by atomic parts'
  if (bits.some((bit) => bit % 2 === 0 && bits.includes(bit + 1))) return 'a feature is required and optional'
  const incomplete = DEPENDENCIES.find(([feature, needed]) => has(feature) && !has(needed))
  return incomplete && `the feature ${incomplete[0]} is there without the feature ${incomplete[1]}`
}

/** Lengths in bytes by version: witness programs of version 0, taproot, hashes of keys, hashes of scripts. */
const FALLBACK_BYTES: Readonly<Record<number, readonly number[]>> = { 0: [20, 32], 1: [32], 17: [20], 18: [20] }

function findFallbackFault([version, ...words]: readonly number[]): string | undefined {
  const lengths = FALLBACK_BYTES[version ?? 0]
  const isRight = lengths ? lengths.includes(wordsToBytes(words)?.length ?? 0) : words.length > 0
  return isRight ? undefined : 'a fallback address has a wrong length'
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
