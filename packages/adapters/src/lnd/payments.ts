import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentFailure, Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { inTime } from '@penstock/ports/in-time.ts'
import { subscribeToPastPayment, subscribeToPayViaRequest } from 'lightning'
import type { Connection } from './connection.ts'
import { createInvoice, findInvoice } from './invoices.ts'
import type { PeerOf } from './peer-of-channel.ts'
import { asFault, Refusal } from './refusal.ts'

/** lnd looks for ways for whole seconds; what it has sent by then goes on. */
const LEAST_PATHFINDING_MS = 1000
/** Parts that one payment may be sent in. */
const MAX_PARTS = 16
/** lnd answers a look-up at once, except while it is still choosing a way. */
const LOOK_UP_MS = 3000

export const payments = (node: Connection, peerOf: PeerOf): Payments => ({
  pay: (request, options) => pay(node, request, options),
  find: (paymentHash) => find(node, paymentHash),
  createInvoice: (request) => createInvoice(node, request),
  findInvoice: (paymentHash) => findInvoice(node, peerOf, paymentHash),
})

type Options = Parameters<Payments['pay']>[1]

/** By the hash first: what is under way is continued, what succeeded is answered; only what failed is tried again. */
async function pay(node: Connection, request: string, { maxFeeMsat, timeoutMs, notAfter }: Options): Promise<PaymentState> {
  const paymentHash = decodePaymentRequest(request)?.paymentHash
  if (paymentHash === undefined) throw new RangeError('not a payment request')
  const known = await find(node, paymentHash)
  if (known?.state === 'succeeded') return known
  if (known?.state === 'in-flight') return follow(node, paymentHash, timeoutMs)
  // The look takes its time, and from here to the sending nothing does.
  if (notAfter !== undefined) inTime(node.clock, notAfter)
  const sending = subscribeToPayViaRequest({
    lnd: node.lnd(),
    request,
    max_fee_mtokens: `${maxFeeMsat}`,
    max_paths: MAX_PARTS,
    pathfinding_timeout: Math.max(timeoutMs, LEAST_PATHFINDING_MS),
  })
  try {
    return await ending(node, sending, timeoutMs)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Another call of ours has just sent it.
    if (/payment is in transition|already (exists|paid)/.test(error.said)) return follow(node, paymentHash, timeoutMs)
    // A refusal is a failure only where lnd says that it never began this payment.
    const begun = await find(node, paymentHash)
    return begun ?? { state: 'failed', reason: reasonOfRefusal(error.said) }
  }
}

function reasonOfRefusal(said: string): PaymentFailure {
  if (/expired/.test(said)) return 'invoice-expired'
  return /insufficient/.test(said) ? 'insufficient-balance' : 'refused'
}

async function find(node: Connection, paymentHash: string): Promise<PaymentState | undefined> {
  try {
    return await follow(node, paymentHash, LOOK_UP_MS, true)
  } catch (error) {
    if (error instanceof Refusal && error.code === 404) return undefined
    throw error
  }
}

const follow = (node: Connection, id: string, timeoutMs: number, atOnce = false): Promise<PaymentState> =>
  ending(node, subscribeToPastPayment({ lnd: node.lnd(), id }), timeoutMs, atOnce)

type Confirmed = { readonly secret: string; readonly fee_mtokens: string }
type Failed = { readonly [K in 'is_insufficient_balance' | 'is_invalid_payment' | 'is_pathfinding_timeout']?: boolean }

/** How a payment ends, or 'in-flight' after the time-out; `atOnce`: or at the first news of it. */
async function ending(
  { clock }: Connection,
  stream: ReturnType<typeof subscribeToPastPayment>,
  timeoutMs: number,
  atOnce = false,
): Promise<PaymentState> {
  const patience = new AbortController()
  try {
    return await new Promise<PaymentState>((resolve, reject) => {
      stream.on('confirmed', ({ secret, fee_mtokens }: Confirmed) =>
        resolve({ state: 'succeeded', preimage: secret, feeMsat: BigInt(fee_mtokens) }),
      )
      stream.on('failed', (failed: Failed) => resolve({ state: 'failed', reason: reasonOf(failed) }))
      if (atOnce) stream.on('paying', () => resolve({ state: 'in-flight' }))
      stream.on('error', (error: unknown) => reject(asFault(error)))
      void clock.sleep(timeoutMs, patience.signal).then(() => resolve({ state: 'in-flight' }))
    })
  } finally {
    patience.abort()
    for (const event of ['confirmed', 'failed', 'paying']) stream.removeAllListeners(event)
  }
}

function reasonOf({ is_insufficient_balance, is_invalid_payment, is_pathfinding_timeout }: Failed): PaymentFailure {
  if (is_invalid_payment) return 'rejected-by-destination'
  if (is_insufficient_balance) return 'insufficient-balance'
  return is_pathfinding_timeout ? 'timeout' : 'no-route'
}
