import { decodePaymentRequest, type PaymentRequest, explainEarlyExpiry, explainUnpayable } from '@penstock/bitcoin/bolt11.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { CommandData } from '../types.ts'
import { orderFact, type OrderDecision } from '../outcomes.ts'
import { isPayoutPaid, selectPayableInvoices } from '../payout.ts'
import { refuseClosing, refuseEnded, refuseNotFound } from '../refusal.ts'
import { findAttemptBy, isFailed, isSeller, isValid, type PlacedOrder, currentSellerOf } from '../state.ts'

const MAX_INVOICES = 50

/** A seller accepts the order with the invoice of its payout, and may replace that invoice until it is paid. */
export function acceptBySeller(
  order: PlacedOrder,
  { by, request, network }: CommandData<'Accept'> & { readonly network: string },
  at: number,
): OrderDecision {
  if (!isSeller(order, by)) return refuseNotFound()
  if (isFailed(order)) return refuseEnded(order.endReason ?? order.status)
  const own = findAttemptBy(order, by)
  if (own?.status === 'failed' || own?.status === 'replaced')
    return refuse('REPLACED', 'Another seller has taken over this order')
  const { attempt, candidate } = own ? { attempt: own.number, candidate: own.candidate } : currentSellerOf(order)
  const newest = selectPayableInvoices(order.payoutInvoices).at(-1)
  if (newest?.request === request && newest.attempt === attempt)
    return newest.state === 'refused' ? refuse('INVOICE_REFUSED', newest.reason ?? 'The invoice was refused') : accept()
  if (order.closing) return refuseClosing(order.closing.reason)
  if (isPayoutPaid(order)) return refuse('PAID', 'The payout is paid')
  const invoice = decodePaymentRequest(request)
  if (!invoice) return refuse('INVOICE_REFUSED', 'request is not a BOLT 11 invoice')
  const fault = findInvoiceFault(invoice, candidate, network, at) ?? findReuseFault(order, request, invoice.paymentHash)
  if (fault !== undefined) return refuse('INVOICE_REFUSED', fault)
  if (order.payoutInvoices.length >= MAX_INVOICES) return refuse('TOO_MANY', 'Too many invoices were given for this order')
  const { paymentHash, payee, expiresAt } = invoice
  const submitted = orderFact('PayoutInvoiceSubmittedRecorded', {
    attempt,
    request,
    paymentHash,
    payee,
    amountMsat: candidate.sellerAmountMsat,
    expiresAt,
  })
  return order.hold === 'none' ? accept(submitted, orderFact('SellerAccepted', { by, autoAccepted: false })) : accept(submitted)
}

function findInvoiceFault(
  invoice: PaymentRequest,
  { sellerPubkey, sellerAmountMsat }: Candidate,
  network: string,
  at: number,
): string | undefined {
  if (invoice.network !== network) return `The invoice is for ${invoice.network}; payouts are made on ${network}`
  if (invoice.amountMsat !== BigInt(sellerAmountMsat)) return `The invoice must be for exactly ${sellerAmountMsat} msat`
  if (invoice.payee !== sellerPubkey) return `The invoice must be of the node that sells, ${sellerPubkey}`
  return explainEarlyExpiry(invoice, at) ?? explainUnpayable(invoice)
}

/** Refuses a known payment hash, because settlement answers once per hash. A superseded invoice may be submitted again. */
function findReuseFault({ payoutInvoices }: PlacedOrder, request: string, hash: string): string | undefined {
  const known = payoutInvoices.find(({ paymentHash }) => paymentHash === hash)
  const isAgain = known?.state === 'superseded' && known.request === request
  return known && !isAgain ? 'This invoice was submitted before; make a new one' : undefined
}

export function recordPayoutInvoice(
  order: PlacedOrder,
  { paymentHash, accepted, reason }: CommandData<'RecordPayoutInvoice'>,
): OrderDecision {
  const isAwaited = order.payoutInvoices.some((payout) => payout.paymentHash === paymentHash && payout.state === 'submitted')
  if (!isAwaited || isFailed(order)) return accept()
  return accept(
    accepted
      ? orderFact('PayoutInvoiceAcceptedRecorded', { paymentHash })
      : orderFact('PayoutInvoiceRefusedRecorded', { paymentHash, reason: reason ?? 'Its payment hash was seen before' }),
  )
}

export const recordPayoutStatus = (order: PlacedOrder, { what, detail }: CommandData<'RecordPayout'>): OrderDecision =>
  isValid(order) && !order.payoutStatuses.includes(`${what} ${detail ?? ''}`)
    ? accept(orderFact('PayoutStatusRecorded', { what, detail }))
    : accept()
