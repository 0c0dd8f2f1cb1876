import { decodePaymentRequest, type PaymentRequest, tooShortLived, unpayable } from '@penstock/bitcoin/bolt11.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { DataOf } from './command.ts'
import { fact, type OrderDecision } from './fact.ts'
import { isPaid, payoutsInTurn } from './payout.ts'
import { closing, ended, notFound } from './refusal.ts'
import { attemptBy, isFailed, isSeller, isValid, type Placed, sellerNow } from './state.ts'

const MOST_INVOICES = 50

/** A seller accepts the order with the invoice of its payout, and may replace that invoice until it is paid. */
export function acceptSale(
  order: Placed,
  { by, request, network }: DataOf<'Accept'> & { readonly network: string },
  at: number,
): OrderDecision {
  if (!isSeller(order, by)) return notFound()
  if (isFailed(order)) return ended(order.ending ?? order.status)
  const own = attemptBy(order, by)
  if (own?.status === 'failed' || own?.status === 'replaced')
    return refuse('REPLACED', 'Another seller has taken over this order')
  const { attempt, candidate } = own ? { attempt: own.number, candidate: own.candidate } : sellerNow(order)
  const newest = payoutsInTurn(order.payouts).at(-1)
  if (newest?.request === request && newest.attempt === attempt)
    return newest.state === 'refused' ? refuse('INVOICE_REFUSED', newest.reason ?? 'The invoice was refused') : accept()
  if (order.closing) return closing(order.closing.reason)
  if (isPaid(order)) return refuse('PAID', 'The payout is paid')
  const invoice = decodePaymentRequest(request)
  if (!invoice) return refuse('INVOICE_REFUSED', 'request is not a BOLT 11 invoice')
  const fault = faultOf(invoice, candidate, network, at) ?? givenBefore(order, request, invoice.paymentHash)
  if (fault !== undefined) return refuse('INVOICE_REFUSED', fault)
  if (order.payouts.length >= MOST_INVOICES) return refuse('TOO_MANY', 'Too many invoices were given for this order')
  const { paymentHash, payee, expiresAt } = invoice
  const given = fact('PayoutInvoiceOffered', {
    attempt,
    request,
    paymentHash,
    payee,
    amountMsat: candidate.sellerAmountMsat,
    expiresAt,
  })
  return order.hold === 'none' ? accept(given, fact('SellerAccepted', { by, standing: false })) : accept(given)
}

function faultOf(
  invoice: PaymentRequest,
  { sellerPubkey, sellerAmountMsat }: Candidate,
  network: string,
  at: number,
): string | undefined {
  if (invoice.network !== network) return `The invoice is for ${invoice.network}; payouts are made on ${network}`
  if (invoice.amountMsat !== BigInt(sellerAmountMsat)) return `The invoice must be for exactly ${sellerAmountMsat} msat`
  if (invoice.payee !== sellerPubkey) return `The invoice must be of the node that sells, ${sellerPubkey}`
  return tooShortLived(invoice, at) ?? unpayable(invoice)
}

/** Settlement answers for a payment hash once; a seller whose turn has come again may give the very same invoice again. */
function givenBefore({ payouts }: Placed, request: string, hash: string): string | undefined {
  const known = payouts.find(({ paymentHash }) => paymentHash === hash)
  const isAgain = known?.state === 'superseded' && known.request === request
  return known && !isAgain ? 'This invoice was given before; make a new one' : undefined
}

export function payoutInvoice(order: Placed, { paymentHash, taken, reason }: DataOf<'RecordPayoutInvoice'>): OrderDecision {
  const isAwaited = order.payouts.some((payout) => payout.paymentHash === paymentHash && payout.state === 'offered')
  if (!isAwaited || isFailed(order)) return accept()
  return accept(
    taken
      ? fact('PayoutInvoiceTaken', { paymentHash })
      : fact('PayoutInvoiceRefused', { paymentHash, reason: reason ?? 'Its payment hash was seen before' }),
  )
}

export const payoutNews = (order: Placed, { what, detail }: DataOf<'RecordPayout'>): OrderDecision =>
  isValid(order) && !order.payoutNews.includes(`${what} ${detail ?? ''}`)
    ? accept(fact('PayoutNoted', { what, detail }))
    : accept()
