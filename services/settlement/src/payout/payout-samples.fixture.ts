import { settlementFact, makePayoutInvoice, settledHistory } from '../samples.fixture.ts'

/** One payout, from the invoice of its seller to the attempt at it. */
export const sellerInvoice = makePayoutInvoice()
export const { paymentHash } = sellerInvoice
export const invoiceSubmittedFact = settlementFact('PayoutInvoiceSubmitted', sellerInvoice)
export const invoiceAcceptedFact = settlementFact('PayoutInvoiceAccepted', { paymentHash })
export const payoutReleasedFact = settlementFact('PayoutReleased', { atHeight: 906, confirmations: 6 })
export const payoutRequestedFact = settlementFact('PayoutRequested', {
  attempt: 1,
  paymentHash,
  request: sellerInvoice.request,
  maxFeeMsat: '20000',
})
export const payoutFailedFact = (
  status: 'NO_ROUTE' | 'PAYMENT_REJECTED_BY_DESTINATION' | 'SELLER_INVOICE_EXPIRED',
  retryAt: number | null,
  attempt = 1,
) => settlementFact('PayoutFailed', { attempt, paymentHash, status, reason: 'x', retryAt })
export const payingHistory = [
  ...settledHistory,
  invoiceSubmittedFact,
  invoiceAcceptedFact,
  payoutReleasedFact,
  payoutRequestedFact,
]
