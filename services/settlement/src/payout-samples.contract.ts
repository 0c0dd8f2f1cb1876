import { fact, payoutInvoice, toSettled } from './samples.contract.ts'

/** One payout, from the invoice of its seller to the attempt at it. */
export const invoice = payoutInvoice()
export const { paymentHash } = invoice
export const offered = fact('PayoutInvoiceOffered', invoice)
export const taken = fact('PayoutInvoiceTaken', { paymentHash })
export const releasedAt = fact('PayoutReleased', { atHeight: 906, confirmations: 6 })
export const asked = fact('PayoutRequested', { attempt: 1, paymentHash, request: invoice.request, maxFeeMsat: '20000' })
export const failed = (
  status: 'NO_ROUTE' | 'PAYMENT_REJECTED_BY_DESTINATION' | 'SELLER_INVOICE_EXPIRED',
  retryAt: number | null,
  attempt = 1,
) => fact('PayoutFailed', { attempt, paymentHash, status, reason: 'x', retryAt })
export const toPaying = [...toSettled, offered, taken, releasedAt, asked]
