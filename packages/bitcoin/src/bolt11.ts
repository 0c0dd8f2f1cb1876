import { secp256k1 } from '@noble/curves/secp256k1.js'
import { createSignedRequest, createUnsignedRequest, parsePaymentRequest } from 'invoices'
import { findAmbiguity } from './bolt11-strict.ts'
import { bytesToHex, hexToBytes, isHex } from './hex.ts'
import { derivePubkey } from './pubkey.ts'

export type BitcoinNetwork = 'mainnet' | 'testnet' | 'signet' | 'regtest'

/** The longest description in BOLT 11. A payment request contains only the hash of a longer text. */
export const MAX_DESCRIPTION_BYTES = 639

export type PaymentRequest = {
  readonly network: BitcoinNetwork
  readonly paymentHash: string
  /** Undefined: the payer chooses the amount. */
  readonly amountMsat: bigint | undefined
  readonly payee: string
  /** Milliseconds since 1970, in whole seconds. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly cltvDelta: number
  readonly description: string | undefined
  readonly descriptionHash: string | undefined
  /** Current nodes do not pay an invoice without a payment secret. */
  readonly hasPaymentSecret: boolean
  readonly routeHints: number
}

export type NewPaymentRequest = {
  readonly network: BitcoinNetwork
  readonly paymentHash: string
  /** Undefined: the payer chooses the amount. */
  readonly amountMsat?: bigint
  /** BOLT 11's payment secret: 32 unguessable bytes in hex. */
  readonly paymentSecret: string
  readonly createdAt: number
  readonly expirySeconds: number
  readonly cltvDelta: number
  readonly description: string
  /** The SHA-256 of a text in hex. The payment request contains it in place of the description. */
  readonly descriptionHash?: string
  /** The public key of the signing key. Without it, the encoder derives the key, which takes as long as the signature. */
  readonly payee?: string
}

// The package calls mainnet `bitcoin`; its other names equal ours.
const PACKAGE_NAMES: Readonly<Record<BitcoinNetwork, string>> = {
  mainnet: 'bitcoin',
  testnet: 'testnet',
  signet: 'signet',
  regtest: 'regtest',
}
const NETWORKS = new Map(Object.entries(PACKAGE_NAMES).map(([network, name]) => [name, network as BitcoinNetwork])) // Known names

// Variable-length onions and payment secrets are required, and multi-part payments are allowed, as in current nodes.
const FEATURES = [8, 14, 17].map((bit) => ({ bit }))

/** Encodes and signs a payment request. @throws RangeError for a value that BOLT 11 cannot express */
export function encodePaymentRequest(request: NewPaymentRequest, secretKey: Uint8Array): string {
  assertEncodable(request)
  const createdAt = Math.floor(request.createdAt / 1000) * 1000
  const { hash, hrp, tags } = createUnsignedRequest({
    network: PACKAGE_NAMES[request.network],
    id: request.paymentHash,
    ...(request.amountMsat !== undefined && { mtokens: `${request.amountMsat}` }),
    payment: request.paymentSecret,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(createdAt + request.expirySeconds * 1000).toISOString(),
    cltv_delta: request.cltvDelta,
    ...(request.descriptionHash === undefined
      ? { description: request.description }
      : { description_hash: request.descriptionHash }),
    features: FEATURES,
  })
  const signature = bytesToHex(secp256k1.sign(hexToBytes(hash), secretKey, { prehash: false }))
  return createSignedRequest({ destination: request.payee ?? derivePubkey(secretKey), hrp, signature, tags }).request
}

// The package `invoices` does not check its input: it replaces a zero by BOLT 11's default, and hangs on a negative number.
function assertEncodable(request: NewPaymentRequest): void {
  const { description, descriptionHash, amountMsat, createdAt, expirySeconds, cltvDelta } = request
  if (descriptionHash !== undefined && !isHex(descriptionHash, 32)) throw new RangeError('a description hash is 32 bytes in hex')
  if (descriptionHash === undefined && new TextEncoder().encode(description).length > MAX_DESCRIPTION_BYTES)
    throw new RangeError(`a description has at most ${MAX_DESCRIPTION_BYTES} bytes; use its hash`)
  if (amountMsat !== undefined && amountMsat <= 0n) throw new RangeError('an amount is above zero')
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value > 0
  if (!isWhole(expirySeconds) || !isWhole(cltvDelta)) throw new RangeError('expiry and CLTV delta are whole numbers above zero')
  if (!(createdAt >= 1000 && createdAt < 2 ** 35 * 1000)) throw new RangeError('the time has 35 bits of seconds since 1970')
}

/** Decoded requests by text, because several services decode the same invoice, and the check of its signature is slow. */
const decodedCache = new Map<string, PaymentRequest>()
const MAX_DECODED_CACHE = 1000

/** Decodes a payment request and checks its signature. @returns undefined for any other text, or if nodes may read it otherwise */
export function decodePaymentRequest(text: string): PaymentRequest | undefined {
  const known = decodedCache.get(text)
  if (known) return known
  const request = decodeUncached(text)
  if (!request) return undefined
  if (decodedCache.size >= MAX_DECODED_CACHE) decodedCache.clear()
  decodedCache.set(text, request)
  return request
}

/** The number of route hints that lnd reads from an invoice. */
const MAX_ROUTE_HINTS = 20
/** lnd sends no payment that could be held for more than 2016 blocks. Half of these blocks are reserved for the route. */
const MAX_CLTV_DELTA_BLOCKS = 1008

/** A payout waits for confirmations and may be retried, so its invoice has to be valid for longer. */
const MIN_LIFETIME_MS = 48 * 3_600_000

/** @returns the reason why this invoice may expire before its payout, as a sentence; undefined if it is valid long enough */
export const explainEarlyExpiry = ({ expiresAt }: PaymentRequest, at: number): string | undefined =>
  expiresAt - at <= MIN_LIFETIME_MS ? 'The invoice must not expire within the next 48 hours' : undefined

/** @returns the reason why current nodes do not pay this invoice, as a sentence; undefined if they pay it */
export function explainUnpayable({ hasPaymentSecret, routeHints, cltvDelta }: PaymentRequest): string | undefined {
  if (!hasPaymentSecret) return 'The invoice has no payment secret; make it with a current node.'
  if (routeHints > MAX_ROUTE_HINTS) return `The invoice has ${routeHints} route hints; make one with at most ${MAX_ROUTE_HINTS}.`
  if (cltvDelta > MAX_CLTV_DELTA_BLOCKS)
    return `The invoice asks for a CLTV delta of ${cltvDelta} blocks; make one with at most ${MAX_CLTV_DELTA_BLOCKS}.`
  return undefined
}

type ParsedRequest = ReturnType<typeof parsePaymentRequest> & { readonly payment?: string; readonly routes?: readonly unknown[] }

function decodeUncached(text: string): PaymentRequest | undefined {
  try {
    // The package also returns these two fields, which its types lack.
    const parsed: ParsedRequest = parsePaymentRequest({ request: text })
    const network = NETWORKS.get(parsed.network)
    if (!network || !parsed.id || findAmbiguity(text) !== undefined) return undefined
    const amountMsat = BigInt(parsed.mtokens)
    return {
      network,
      paymentHash: parsed.id,
      amountMsat: amountMsat === 0n ? undefined : amountMsat,
      payee: parsed.destination,
      createdAt: Date.parse(parsed.created_at),
      expiresAt: Date.parse(parsed.expires_at),
      cltvDelta: parsed.cltv_delta,
      description: parsed.description_hash ? undefined : (parsed.description ?? ''),
      descriptionHash: parsed.description_hash,
      hasPaymentSecret: parsed.payment !== undefined,
      routeHints: parsed.routes?.length ?? 0,
    }
  } catch {
    return undefined // The package throws for every malformed text.
  }
}
