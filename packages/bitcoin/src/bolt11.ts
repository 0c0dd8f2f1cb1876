import { secp256k1 } from '@noble/curves/secp256k1.js'
import { createSignedRequest, createUnsignedRequest, parsePaymentRequest } from 'invoices'
import { bytesToHex, hexToBytes } from './hex.ts'
import { pubkeyOf } from './pubkey.ts'

export type Network = 'mainnet' | 'testnet' | 'signet' | 'regtest'

/** BOLT 11: what fits into a description; longer texts go in as their hash. */
export const MAX_DESCRIPTION_BYTES = 639

export type PaymentRequest = {
  readonly network: Network
  readonly paymentHash: string
  /** Undefined: the payer chooses. */
  readonly amountMsat: bigint | undefined
  readonly payee: string
  /** Milliseconds since 1970, in whole seconds. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly cltvDelta: number
  readonly description: string | undefined
  readonly descriptionHash: string | undefined
  /** Without one a node of today sends nothing. */
  readonly hasPaymentSecret: boolean
  readonly routeHints: number
}

export type NewPaymentRequest = {
  readonly network: Network
  readonly paymentHash: string
  /** Undefined: the payer chooses. */
  readonly amountMsat?: bigint
  /** BOLT 11's payment secret: 32 unguessable bytes in hex. */
  readonly paymentSecret: string
  readonly createdAt: number
  readonly expirySeconds: number
  readonly cltvDelta: number
  readonly description: string
  /** The public key of the key that signs, where it is known: to make it costs as much as to sign. */
  readonly payee?: string
}

// The package calls mainnet `bitcoin`; the other names are ours too.
const PACKAGE_NAMES: Readonly<Record<Network, string>> = {
  mainnet: 'bitcoin',
  testnet: 'testnet',
  signet: 'signet',
  regtest: 'regtest',
}
const NETWORKS = new Map(Object.entries(PACKAGE_NAMES).map(([network, name]) => [name, network as Network])) // keys of the record above

// Variable onions and payment secrets required, several parts allowed: what every node of today sends.
const FEATURES = [8, 14, 17].map((bit) => ({ bit }))

/** Writes and signs a payment request. @throws RangeError for what BOLT 11 has no form for, a long description above all */
export function encodePaymentRequest(request: NewPaymentRequest, secretKey: Uint8Array): string {
  mustFit(request)
  const createdAt = Math.floor(request.createdAt / 1000) * 1000
  const { hash, hrp, tags } = createUnsignedRequest({
    network: PACKAGE_NAMES[request.network],
    id: request.paymentHash,
    ...(request.amountMsat !== undefined && { mtokens: `${request.amountMsat}` }),
    payment: request.paymentSecret,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(createdAt + request.expirySeconds * 1000).toISOString(),
    cltv_delta: request.cltvDelta,
    description: request.description,
    features: FEATURES,
  })
  const signature = bytesToHex(secp256k1.sign(hexToBytes(hash), secretKey, { prehash: false }))
  return createSignedRequest({ destination: request.payee ?? pubkeyOf(secretKey), hrp, signature, tags }).request
}

// `invoices` takes anything: a zero becomes the default of BOLT 11, and a negative number never comes back.
function mustFit({ description, amountMsat, createdAt, expirySeconds, cltvDelta }: NewPaymentRequest): void {
  if (new TextEncoder().encode(description).length > MAX_DESCRIPTION_BYTES)
    throw new RangeError(`a description has at most ${MAX_DESCRIPTION_BYTES} bytes; put in its hash`)
  if (amountMsat !== undefined && amountMsat <= 0n) throw new RangeError('an amount is above zero')
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value > 0
  if (!isWhole(expirySeconds) || !isWhole(cltvDelta)) throw new RangeError('expiry and CLTV delta are whole numbers above zero')
  if (!(createdAt >= 1000 && createdAt < 2 ** 35 * 1000)) throw new RangeError('the time has 35 bits of seconds since 1970')
}

/** An invoice is read by everybody through whose hands it goes, and to check its signature takes long. */
const decoded = new Map<string, PaymentRequest>()
const DECODED_KEPT = 1000

/** Reads a payment request and checks its signature. @returns undefined for anything else */
export function decodePaymentRequest(text: string): PaymentRequest | undefined {
  const known = decoded.get(text)
  if (known) return known
  const request = decode(text)
  if (!request) return undefined
  if (decoded.size >= DECODED_KEPT) decoded.clear()
  decoded.set(text, request)
  return request
}

/** As many as lnd reads of an invoice. */
const MOST_ROUTE_HINTS = 20
/** lnd sends nothing that could be held for more than 2016 blocks; half of them are for the nodes on the way. */
const MOST_CLTV_DELTA_BLOCKS = 1008

/** A payout waits for confirmations and may be tried again: its invoice has to live longer than that. */
const LEAST_LIFE_MS = 48 * 3_600_000

/** @returns why this invoice may end before its payout is made, as a sentence; undefined where it lives long enough */
export const tooShortLived = ({ expiresAt }: PaymentRequest, at: number): string | undefined =>
  expiresAt - at <= LEAST_LIFE_MS ? 'The invoice must not expire within the next 48 hours' : undefined

/** @returns why no node of today would send a payment to this invoice, as a sentence; undefined where one would */
export function unpayable({ hasPaymentSecret, routeHints, cltvDelta }: PaymentRequest): string | undefined {
  if (!hasPaymentSecret) return 'The invoice has no payment secret; make it with a node of today.'
  if (routeHints > MOST_ROUTE_HINTS)
    return `The invoice has ${routeHints} route hints; make one with at most ${MOST_ROUTE_HINTS}.`
  if (cltvDelta > MOST_CLTV_DELTA_BLOCKS)
    return `The invoice asks for a CLTV delta of ${cltvDelta} blocks; make one with at most ${MOST_CLTV_DELTA_BLOCKS}.`
  return undefined
}

type Parsed = ReturnType<typeof parsePaymentRequest> & { readonly payment?: string; readonly routes?: readonly unknown[] }

function decode(text: string): PaymentRequest | undefined {
  try {
    // The package gives these two as well, and its types do not say so.
    const parsed: Parsed = parsePaymentRequest({ request: text })
    const network = NETWORKS.get(parsed.network)
    if (!network || !parsed.id) return undefined
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
    return undefined // the package throws for every kind of rubbish
  }
}
