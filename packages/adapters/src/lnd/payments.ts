import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentFailure, Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { assertBeforeDeadline } from '@penstock/kernel/deadline.ts'
import { subscribeToPastPayment, subscribeToPayViaRequest } from 'lightning'
import type { LndConnection } from './connection.ts'
import { addInvoice, lookUpInvoice } from './invoices.ts'
import type { PeerFinder } from './peer-finder.ts'
import { toLndFault, LndRefusal } from './rpc-errors.ts'

/** Minimum timeout of the pathfinding, which lnd counts in seconds. HTLCs that lnd has sent by then continue. */
const MIN_PATHFINDING_MS = 1000
/** Maximum number of parts of one payment. */
const MAX_PARTS = 16
/** Timeout of a lookup, which lnd answers at once unless it is still searching a route. */
const LOOKUP_TIMEOUT_MS = 3000

export const createPaymentsPort = (node: LndConnection, findPeer: PeerFinder): Payments => ({
  pay: (request, options) => payInvoice(node, request, options),
  find: (paymentHash) => findPayment(node, paymentHash),
  createInvoice: (request) => addInvoice(node, request),
  findInvoice: (paymentHash) => lookUpInvoice(node, findPeer, paymentHash),
})

type PayOptions = Parameters<Payments['pay']>[1]

/**
 * Looks up the payment by its hash first. A payment in flight is awaited, a succeeded payment is returned, and only a failed or
 * unknown payment is sent.
 */
async function payInvoice(
  node: LndConnection,
  request: string,
  { maxFeeMsat, timeoutMs, notAfter }: PayOptions,
): Promise<PaymentState> {
  const paymentHash = decodePaymentRequest(request)?.paymentHash
  if (paymentHash === undefined) throw new RangeError('not a payment request')
  const known = await findPayment(node, paymentHash)
  if (known?.state === 'succeeded') return known
  if (known?.state === 'in-flight') return trackPayment(node, paymentHash, timeoutMs)
  // The deadline is checked after the lookup, because the lookup takes time and the steps from here to the send do not.
  if (notAfter !== undefined) assertBeforeDeadline(node.clock, notAfter)
  const sending = subscribeToPayViaRequest({
    lnd: node.lnd(),
    request,
    max_fee_mtokens: `${maxFeeMsat}`,
    max_paths: MAX_PARTS,
    pathfinding_timeout: Math.max(timeoutMs, MIN_PATHFINDING_MS),
  })
  try {
    return await waitForOutcome(node, sending, timeoutMs)
  } catch (error) {
    if (!(error instanceof LndRefusal)) throw error
    // A concurrent call has just sent the payment.
    if (/payment is in transition|already (exists|paid)/.test(error.details)) return trackPayment(node, paymentHash, timeoutMs)
    // A refusal is a failure only if lnd reports that it never started this payment.
    const started = await findPayment(node, paymentHash)
    return started ?? { state: 'failed', reason: rejectionReasonOf(error.details) }
  }
}

function rejectionReasonOf(details: string): PaymentFailure {
  if (/expired/.test(details)) return 'invoice-expired'
  return /insufficient/.test(details) ? 'insufficient-balance' : 'refused'
}

async function findPayment(node: LndConnection, paymentHash: string): Promise<PaymentState | undefined> {
  try {
    return await trackPayment(node, paymentHash, LOOKUP_TIMEOUT_MS, true)
  } catch (error) {
    if (error instanceof LndRefusal && error.code === 404) return undefined
    throw error
  }
}

const trackPayment = (node: LndConnection, id: string, timeoutMs: number, isImmediate = false): Promise<PaymentState> =>
  waitForOutcome(node, subscribeToPastPayment({ lnd: node.lnd(), id }), timeoutMs, isImmediate)

type Confirmed = { readonly secret: string; readonly fee_mtokens: string }
type Failed = { readonly [K in 'is_insufficient_balance' | 'is_invalid_payment' | 'is_pathfinding_timeout']?: boolean }

/**
 * Waits for the end of a payment. Returns `in-flight` at the timeout, or with `isImmediate` once lnd reports the payment as in
 * flight.
 */
async function waitForOutcome(
  { clock }: LndConnection,
  stream: ReturnType<typeof subscribeToPastPayment>,
  timeoutMs: number,
  isImmediate = false,
): Promise<PaymentState> {
  const timeout = new AbortController()
  try {
    return await new Promise<PaymentState>((resolve, reject) => {
      stream.on('confirmed', ({ secret, fee_mtokens }: Confirmed) =>
        resolve({ state: 'succeeded', preimage: secret, feeMsat: BigInt(fee_mtokens) }),
      )
      stream.on('failed', (failed: Failed) => resolve({ state: 'failed', reason: failureReasonOf(failed) }))
      if (isImmediate) stream.on('paying', () => resolve({ state: 'in-flight' }))
      stream.on('error', (error: unknown) => reject(toLndFault(error)))
      void clock.sleep(timeoutMs, timeout.signal).then(() => resolve({ state: 'in-flight' }))
    })
  } finally {
    timeout.abort()
    for (const event of ['confirmed', 'failed', 'paying']) stream.removeAllListeners(event)
  }
}

function failureReasonOf({ is_insufficient_balance, is_invalid_payment, is_pathfinding_timeout }: Failed): PaymentFailure {
  if (is_invalid_payment) return 'rejected-by-destination'
  if (is_insufficient_balance) return 'insufficient-balance'
  return is_pathfinding_timeout ? 'timeout' : 'no-route'
}
