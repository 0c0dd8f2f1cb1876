import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Payout, Placed } from './state.ts'

/** The invoices that sellers gave for their payout, one of each hash, the newest last. */
export function evolvePayouts({ payouts }: Placed, { type, data }: OrderFact): readonly Payout[] {
  switch (type) {
    case 'PayoutInvoiceOffered':
      return [...payouts, { ...data, amountMsat: BigInt(data.amountMsat), state: 'offered', reason: null }]
    case 'PayoutInvoiceTaken':
      return payouts.map((payout) => (payout.paymentHash === data.paymentHash ? { ...payout, state: 'taken' } : payout))
    case 'PayoutInvoiceRefused':
      return payouts.map((payout) =>
        payout.paymentHash === data.paymentHash ? { ...payout, state: 'refused', reason: data.reason } : payout,
      )
    case 'AttemptStarted':
      // The seller that was shown had no capacity any more: its invoice is nobody's.
      return payouts.filter(({ attempt, payee }) => attempt !== data.attempt || payee === data.candidate.sellerPubkey)
    default:
      return payouts
  }
}

/** The payout is on its way no more: nothing replaces its invoice. */
export const isPaid = ({ payoutNews }: Placed): boolean => payoutNews.some((news) => news.startsWith('paid '))
