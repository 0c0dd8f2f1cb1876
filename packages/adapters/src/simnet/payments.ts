import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentFailure, PaymentState } from '@penstock/ports/lightning.ts'
import { inTime } from '@penstock/ports/in-time.ts'
import { heightOf } from './chain.ts'
import { lockHtlcs, waitingMsat } from './htlcs.ts'
import { findInvoiceRow, lapseInvoices, settleInvoice } from './invoices.ts'
import { waitForOthers, waitNoMore } from './parts.ts'
import { findRoute, spendableMsat } from './routes.ts'
import type { Net } from './store.ts'

/** Blocks that a payer adds to the last HTLC, since one may be found while it is on its way (lnd). */
const BLOCK_PADDING = 3

type PaymentRow = {
  payer: string
  payee: string
  fee_msat: bigint
  state: PaymentState['state']
  reason: PaymentFailure | null
  preimage: string | null
}

export function findPayment(net: Net, payer: string, paymentHash: string): PaymentState | undefined {
  const row = net.get<PaymentRow>('SELECT * FROM payments WHERE payer = ? AND payment_hash = ?', payer, paymentHash)
  return row && toState(row)
}

/** @returns a payment of this hash, whoever makes it: one that succeeded before one in flight before one that failed */
export function findAnyPayment(
  net: Net,
  paymentHash: string,
): { readonly payee: string; readonly outcome: PaymentState } | undefined {
  const row = net.get<PaymentRow>('SELECT * FROM payments WHERE payment_hash = ? ORDER BY state DESC LIMIT 1', paymentHash)
  return row && { payee: row.payee, outcome: toState(row) }
}

type Sending = {
  readonly maxFeeMsat: bigint
  readonly amountMsat?: bigint
  readonly totalMsat?: bigint
  readonly notAfter?: number | undefined
}

/**
 * Sends one HTLC along the shortest way. It waits at a hold invoice; at an ordinary one it is settled at once.
 * One that is in flight or succeeded is not sent again, unless parts of it are missing; one that failed is.
 * @param amountMsat what is sent; the invoice's amount unless told
 * @param totalMsat what all parts come to, of which this is one; unless told it is the whole
 * @throws RangeError for what is no invoice of this network, Fault where nothing may be sent any more
 */
export function startPayment(
  net: Net,
  payer: string,
  request: string,
  { maxFeeMsat, amountMsat, totalMsat, notAfter }: Sending,
): PaymentState {
  const invoice = decodePaymentRequest(request)
  const sentMsat = amountMsat ?? invoice?.amountMsat
  if (!invoice || invoice.network !== 'regtest' || sentMsat === undefined)
    throw new RangeError('not an invoice with an amount on this network')
  const known = findPayment(net, payer, invoice.paymentHash)
  const isMore = known?.state === 'in-flight' && waitingMsat(net, invoice.payee, invoice.paymentHash) < (totalMsat ?? 0n)
  if (known && known.state !== 'failed' && !isMore) return known
  if (notAfter !== undefined) inTime(net.clock, notAfter)
  lapseInvoices(net)
  const record = (state: PaymentState['state'], feeMsat: bigint, reason: PaymentFailure | null): void => {
    net.run(
      'INSERT OR REPLACE INTO payments (payer, payment_hash, payee, amount_msat, fee_msat, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?)',
      payer,
      invoice.paymentHash,
      invoice.payee,
      sentMsat,
      feeMsat,
      state,
      reason,
    )
    net.touch(`payment/${invoice.paymentHash}`)
  }
  const fail = (reason: PaymentFailure): PaymentState => {
    // What of it is held already goes on.
    if (!isMore) record('failed', 0n, reason)
    return { state: 'failed', reason }
  }
  // Nothing is sent, so nothing is remembered.
  if (invoice.expiresAt <= net.clock.now()) return { state: 'failed', reason: 'invoice-expired' }
  const route = findRoute(net, payer, invoice.payee, sentMsat, heightOf(net) + invoice.cltvDelta + BLOCK_PADDING)
  if (!route) return fail(spendableMsat(net, payer) < sentMsat ? 'insufficient-balance' : 'no-route')
  const feeMsat = (route[0]?.amountMsat ?? sentMsat) - sentMsat
  if (feeMsat > maxFeeMsat) return fail('fee-limit')
  const target = findInvoiceRow(net, invoice.payee, invoice.paymentHash)
  // As lnd does: once, whatever is enough, however much it is.
  if (target?.state !== 'open' || (totalMsat ?? sentMsat) < target.amount_msat) return fail('rejected-by-destination')
  lockHtlcs(net, invoice.paymentHash, payer, route)
  record('in-flight', feeMsat, null)
  net.touch(`invoice/${invoice.paymentHash}`)
  if (waitingMsat(net, invoice.payee, invoice.paymentHash) < (totalMsat ?? sentMsat)) {
    waitForOthers(net, invoice.payee, invoice.paymentHash)
    return { state: 'in-flight' }
  }
  waitNoMore(net, invoice.payee, invoice.paymentHash)
  net.run("UPDATE invoices SET state = 'held' WHERE node = ? AND payment_hash = ?", invoice.payee, invoice.paymentHash)
  if (target.preimage !== null) settleInvoice(net, invoice.payee, target.preimage)
  return findPayment(net, payer, invoice.paymentHash) ?? { state: 'in-flight' }
}

function toState({ state, preimage, fee_msat, reason }: PaymentRow): PaymentState {
  switch (state) {
    case 'in-flight':
      return { state }
    case 'succeeded':
      return { state, preimage: preimage ?? '', feeMsat: fee_msat }
    case 'failed':
      return { state, reason: reason ?? 'no-route' }
  }
}
