import { encodePaymentRequest, MAX_DESCRIPTION_BYTES } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { Pepper } from '@penstock/credentials/credentials.ts'
import { deriveSandboxNodeKey, deriveSandboxPaymentSecret, deriveSandboxPreimage } from '@penstock/credentials/sandbox-secrets.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import { createHash } from 'node:crypto'

type SandboxInvoiceRequest = {
  readonly transactionId: string
  readonly amountMsat: bigint
  readonly description: string
  /** 32 bytes in hex, which the invoice contains in place of the description. */
  readonly descriptionHash?: string | undefined
  readonly expirySeconds: number
  /** Milliseconds since 1970. */
  readonly now: number
}

export type SandboxInvoice = {
  readonly request: string
  readonly paymentHash: string
  readonly payee: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** lnd's CLTV delta for the last hop of a new invoice. */
const CLTV_DELTA_BLOCKS = 80

/** Cached, because the derivation of a public key takes as long as a signature. */
const payees = new WeakMap<Pepper, string>()

/** Signs an invoice for regtest. It is valid, and no node can be paid with it. */
export function createSandboxInvoice(pepper: Pepper, request: SandboxInvoiceRequest): SandboxInvoice {
  const { transactionId, amountMsat, description, expirySeconds, now } = request
  const secretKey = deriveSandboxNodeKey(pepper)
  const payee = payees.get(pepper) ?? derivePubkey(secretKey)
  payees.set(pepper, payee)
  const paymentHash = paymentHashOf(deriveSandboxPreimage(pepper, transactionId))
  const descriptionHash = request.descriptionHash ?? hashLongDescription(description)
  const text = encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash,
      amountMsat,
      paymentSecret: deriveSandboxPaymentSecret(pepper, transactionId),
      createdAt: now,
      expirySeconds,
      cltvDelta: CLTV_DELTA_BLOCKS,
      description,
      payee,
      ...(descriptionHash !== undefined && { descriptionHash }),
    },
    secretKey,
  )
  // An invoice counts in whole seconds.
  const expiresAt = (Math.floor(now / SECOND_MS) + expirySeconds) * SECOND_MS
  return { request: text, paymentHash, payee, issuedAt: now, expiresAt }
}

/** @returns the SHA-256 of a description that does not fit into an invoice; undefined for a shorter one */
function hashLongDescription(description: string): string | undefined {
  if (Buffer.byteLength(description) <= MAX_DESCRIPTION_BYTES) return undefined
  return createHash('sha256').update(description).digest('hex')
}
