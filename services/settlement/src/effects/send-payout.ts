import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { Fault, assert } from '@penstock/kernel/result.ts'
import type { PaymentFailure, Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { assertBeforeDeadline } from '@penstock/kernel/deadline.ts'
import { hitCrashPoint } from '@penstock/runtime/crash-points.ts'
import { payableInvoice } from '../payout/payout.decide.ts'
import { mayPayBoth, type SettlementPayout } from '../payout/payout.ts'
import type { Settlement } from '../state.ts'
import { assertBoundNode } from './node-binding.ts'
import type { Outcome, SettlementEffectContext } from './ports.ts'

const TIMEOUT_MS = 60_000
/** Maximum age of the stream state on which a payment is sent. */
const STREAM_READ_VALID_MS = 2000
/**
 * A sent payment may reach the node this much later: the kernel resends data after a network outage, even of a dead process.
 * The bound is likely, not certain, because the kernel may resend for longer and lnd has no deadline for a request.
 */
const LATE_DELIVERY_MS = 30_000
/** During this wait, a process that does not know the newer request may still deliver an older payment. */
export const LATE_SENDS_OVER_MS = STREAM_READ_VALID_MS + LATE_DELIVERY_MS

type FailedPayout = Extract<Extract<SettlementCommand, { type: 'RecordPayout' }>['data'], { state: 'failed' }>

/**
 * Pays the creditor. A payment that is in flight or has succeeded is never sent again. A payment is sent only if it was never
 * sent before, or is known to have failed.
 */
export async function sendPayout(
  state: Settlement,
  { id, ports, isStillRequested, signal }: SettlementEffectContext,
): Promise<Outcome<'RecordPayout'> | null> {
  const { hold, payout } = state
  const { paying } = payout
  assert(paying, 'a payout was requested')
  const { attempt, paymentHash, request, maxFeeMsat } = paying
  const { payments } = ports.lightning
  const before = await payments.find(paymentHash)
  if (before?.state === 'succeeded') return toRecordPayout(attempt, before)
  const isFresh = before === undefined || before.state === 'failed'
  // The node never tried this invoice, and a newer invoice exists. So this attempt fails, and the newer invoice is requested.
  const newest = payableInvoice(state)
  if (before === undefined && newest && newest.paymentHash !== paymentHash) return toRecordPayout(attempt, REPLACED)
  if (isFresh && (decodePaymentRequest(request)?.expiresAt ?? 0) <= ports.clock.now())
    return toRecordPayout(attempt, { state: 'failed', reason: 'invoice-expired' })
  const otherHashes = otherTakenHashes(payout, paymentHash)
  // A replica that crashed, or has not read an earlier payout's failure, may have a payment on its way to the node. The node
  // would send that payment too, even after the failure of its payout. So this effect waits before it looks for such a payment.
  // The wait is also needed if this payment is "in-flight", because a node that does not answer counts as in flight too.
  // At attempt 1 no other payment was ever requested, so there is no wait.
  if (otherHashes.length > 0 && attempt > 1) await ports.clock.sleep(LATE_SENDS_OVER_MS, signal)
  if (signal.aborted) throw new Fault('the service stops')
  await assertBoundNode(ports, hold)
  const other = await findOtherPayment(payments, otherHashes)
  if (other) {
    ports.log.error({ order: id, paymentHash: other.paymentHash }, 'another invoice of this order was paid already')
    return toRecordPayout(attempt, other.payment, other.paymentHash)
  }
  hitCrashPoint('settlement.pay.before-payment')
  // The node prevents a second payment to one hash, but not a payment to a second hash of the same seller. So a process that was
  // paused reads the stream again, and sends the payment right after that.
  const notAfter = ports.clock.monotonicMs() + STREAM_READ_VALID_MS
  if (!(await isStillRequested())) return null
  assertBeforeDeadline(ports.clock, notAfter)
  return toRecordPayout(attempt, await payments.pay(request, { maxFeeMsat: BigInt(maxFeeMsat), timeoutMs: TIMEOUT_MS, notAfter }))
}

type OtherPayment = { readonly paymentHash: string; readonly payment: Extract<PaymentState, { state: 'succeeded' }> }

/** A payment to the seller no longer counts once an operator has decided to pay the buyer nevertheless. */
const otherTakenHashes = (payout: SettlementPayout, current: string): readonly string[] =>
  Object.values(payout.invoices).flatMap(({ state, paymentHash, creditor }) =>
    state === 'accepted' && paymentHash !== current && (creditor === payout.creditor || !mayPayBoth(payout)) ? [paymentHash] : [],
  )

/**
 * Finds a payment to another invoice of this order that succeeded.
 * @throws Fault while such a payment may still arrive
 */
async function findOtherPayment(payments: Payments, otherHashes: readonly string[]): Promise<OtherPayment | undefined> {
  for (const paymentHash of otherHashes) {
    const payment = await payments.find(paymentHash)
    if (payment?.state === 'in-flight') throw new Fault('an earlier payout of this order is still under way')
    if (payment?.state === 'succeeded') return { paymentHash, payment }
  }
  return undefined
}

/**
 * @param paymentHash given only if the payment belongs to another attempt
 * @throws Fault while the payment is in flight, so that the effect is retried
 */
function toRecordPayout(attempt: number, payment: PaymentState | typeof REPLACED, paymentHash?: string): Outcome<'RecordPayout'> {
  switch (payment.state) {
    case 'succeeded': {
      const paid = { state: 'succeeded', attempt, feeMsat: `${payment.feeMsat}`, ...(paymentHash && { paymentHash }) } as const
      return { type: 'RecordPayout', data: paid }
    }
    case 'failed':
      return { type: 'RecordPayout', data: { state: 'failed', attempt, ...FAILURES[payment.reason] } }
    case 'in-flight':
      throw new Fault('the payout is still under way')
  }
}

const REPLACED = { state: 'failed', reason: 'replaced' } as const

const noRoute = (reason: string) => ({ status: 'NO_ROUTE', reason }) as const

const FAILURES: Readonly<Record<PaymentFailure | 'replaced', Pick<FailedPayout, 'status' | 'reason'>>> = {
  'no-route': noRoute('No route to the node of the invoice was found.'),
  'insufficient-balance': noRoute('Our node cannot send this amount now.'),
  timeout: noRoute('The payment did not arrive in time.'),
  'fee-limit': noRoute('Every route to the node of the invoice costs more than the fee limit.'),
  replaced: noRoute('Another invoice was given, and this one was never tried.'),
  refused: noRoute('Our node refuses to send to this invoice; another one may help.'),
  'rejected-by-destination': {
    status: 'PAYMENT_REJECTED_BY_DESTINATION',
    reason: 'The node of the invoice refused the payment; give another invoice.',
  },
  'invoice-expired': { status: 'SELLER_INVOICE_EXPIRED', reason: 'The invoice has expired; give another one.' },
}
