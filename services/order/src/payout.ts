import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Payout, Placed } from './state.ts'

/** The invoices that sellers gave for their payout, one of each hash, the newest last. */
export function evolvePayouts({ payouts }: Placed, { type, data }: OrderFact): readonly Payout[] {
  switch (type) {
    case 'PayoutInvoiceOffered': {
      const others = payouts.filter(({ paymentHash }) => paymentHash !== data.paymentHash)
      return [...others, { ...data, amountMsat: BigInt(data.amountMsat), state: 'offered', reason: null }]
    }
    case 'PayoutInvoiceTaken':
      return answered(payouts, data.paymentHash, { state: 'taken' })
    case 'PayoutInvoiceRefused':
      return answered(payouts, data.paymentHash, { state: 'refused', reason: data.reason })
    case 'AttemptStarted':
      // The seller that was shown had no capacity any more. Its invoice is kept, since settlement may have it.
      return payouts.map((payout) =>
        payout.attempt === data.attempt && payout.payee !== data.candidate.sellerPubkey
          ? { ...payout, state: 'superseded' }
          : payout,
      )
    default:
      return payouts
  }
}

const answered = (
  payouts: readonly Payout[],
  paymentHash: string,
  answer: Pick<Payout, 'state'> & Partial<Pick<Payout, 'reason'>>,
): readonly Payout[] =>
  payouts.map((payout) =>
    payout.paymentHash === paymentHash && payout.state !== 'superseded' ? { ...payout, ...answer } : payout,
  )

/** Those that count for a seller that has, or had, its turn. */
export const payoutsInTurn = (payouts: readonly Payout[]): readonly Payout[] =>
  payouts.filter(({ state }) => state !== 'superseded')

/** The payout is on its way no more: nothing replaces its invoice. */
export const isPaid = ({ payoutNews }: Placed): boolean => payoutNews.some((news) => news.startsWith('paid '))
