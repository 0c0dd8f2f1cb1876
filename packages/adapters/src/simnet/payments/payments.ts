import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentFailure, PaymentState } from '@penstock/ports/lightning.ts'
import { assertBeforeDeadline } from '@penstock/kernel/deadline.ts'
import { readHeight } from '../chain.ts'
import { lockHtlcs, readWaitingMsat } from './htlcs.ts'
import { findInvoiceRow, expireInvoices, settleInvoice } from './invoices.ts'
import { waitForOtherParts, completeParts } from './mpp-parts.ts'
import { findRoute, sumSpendableMsat } from './pathfinding.ts'
import type { SimnetStore } from '../store.ts'

/** Blocks that a payer adds to the expiry of the last HTLC, because blocks may be found while the HTLC is in flight (lnd). */
const BLOCK_PADDING = 3

type PaymentRow = {
  payer: string
  payee: string
  fee_msat: bigint
  state: PaymentState['state']
  reason: PaymentFailure | null
  preimage: string | null
}

export function findPayment(store: SimnetStore, payer: string, paymentHash: string): PaymentState | undefined {
  const row = store.get<PaymentRow>('SELECT * FROM payments WHERE payer = ? AND payment_hash = ?', payer, paymentHash)
  return row && toPaymentState(row)
}

/** @returns a payment with this hash by any payer, preferably a succeeded one, then one in flight, then a failed one */
export function findAnyPayment(
  store: SimnetStore,
  paymentHash: string,
): { readonly payee: string; readonly outcome: PaymentState } | undefined {
  const row = store.get<PaymentRow>('SELECT * FROM payments WHERE payment_hash = ? ORDER BY state DESC LIMIT 1', paymentHash)
  return row && { payee: row.payee, outcome: toPaymentState(row) }
}

type StartPaymentOptions = {
  readonly maxFeeMsat: bigint
  readonly amountMsat?: bigint
  readonly totalMsat?: bigint
  readonly notAfter?: number | undefined
}

/**
 * Sends one HTLC along the shortest route. A hold invoice holds the HTLC; an ordinary invoice settles it at once. A payment in
 * flight is sent again only for missing parts. A failed payment is sent again, and a succeeded one never.
 * @param amountMsat amount to send; the amount of the invoice by default
 * @param totalMsat sum of all parts, if this payment is one part
 * @throws RangeError if the request is not an invoice of this network, Fault after the deadline
 */
export function startPayment(
  store: SimnetStore,
  payer: string,
  request: string,
  { maxFeeMsat, amountMsat, totalMsat, notAfter }: StartPaymentOptions,
): PaymentState {
  const invoice = decodePaymentRequest(request)
  const sentMsat = amountMsat ?? invoice?.amountMsat
  if (!invoice || invoice.network !== 'regtest' || sentMsat === undefined)
    throw new RangeError('not an invoice with an amount on this network')
  const known = findPayment(store, payer, invoice.paymentHash)
  const isFurtherPart =
    known?.state === 'in-flight' && readWaitingMsat(store, invoice.payee, invoice.paymentHash) < (totalMsat ?? 0n)
  if (known && known.state !== 'failed' && !isFurtherPart) return known
  if (notAfter !== undefined) assertBeforeDeadline(store.clock, notAfter)
  expireInvoices(store)
  const savePayment = (state: PaymentState['state'], feeMsat: bigint, reason: PaymentFailure | null): void => {
    store.run(
      'INSERT OR REPLACE INTO payments (payer, payment_hash, payee, amount_msat, fee_msat, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?)',
      payer,
      invoice.paymentHash,
      invoice.payee,
      sentMsat,
      feeMsat,
      state,
      reason,
    )
    store.notify(`payment/${invoice.paymentHash}`)
  }
  const fail = (reason: PaymentFailure): PaymentState => {
    // Parts that are already held stay in flight.
    if (!isFurtherPart) savePayment('failed', 0n, reason)
    return { state: 'failed', reason }
  }
  // No HTLC was sent, so no payment is recorded.
  if (invoice.expiresAt <= store.clock.now()) return { state: 'failed', reason: 'invoice-expired' }
  const route = findRoute(store, payer, invoice.payee, sentMsat, readHeight(store) + invoice.cltvDelta + BLOCK_PADDING)
  if (!route) return fail(sumSpendableMsat(store, payer) < sentMsat ? 'insufficient-balance' : 'no-route')
  const feeMsat = (route[0]?.amountMsat ?? sentMsat) - sentMsat
  if (feeMsat > maxFeeMsat) return fail('fee-limit')
  const target = findInvoiceRow(store, invoice.payee, invoice.paymentHash)
  // Like lnd, the node accepts one payment of at least the amount of the invoice, without an upper limit.
  if (target?.state !== 'open' || (totalMsat ?? sentMsat) < target.amount_msat) return fail('rejected-by-destination')
  lockHtlcs(store, invoice.paymentHash, payer, route)
  savePayment('in-flight', feeMsat, null)
  store.notify(`invoice/${invoice.paymentHash}`)
  if (readWaitingMsat(store, invoice.payee, invoice.paymentHash) < (totalMsat ?? sentMsat)) {
    waitForOtherParts(store, invoice.payee, invoice.paymentHash)
    return { state: 'in-flight' }
  }
  completeParts(store, invoice.payee, invoice.paymentHash)
  store.run("UPDATE invoices SET state = 'held' WHERE node = ? AND payment_hash = ?", invoice.payee, invoice.paymentHash)
  if (target.preimage !== null) settleInvoice(store, invoice.payee, target.preimage)
  return findPayment(store, payer, invoice.paymentHash) ?? { state: 'in-flight' }
}

function toPaymentState({ state, preimage, fee_msat, reason }: PaymentRow): PaymentState {
  switch (state) {
    case 'in-flight':
      return { state }
    case 'succeeded':
      return { state, preimage: preimage ?? '', feeMsat: fee_msat }
    case 'failed':
      return { state, reason: reason ?? 'no-route' }
  }
}
