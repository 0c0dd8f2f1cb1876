import type { OrderFact } from '@penstock/contracts/order.ts'
import type { SubmittedPayoutInvoice, PlacedOrder } from './state.ts'

/** The payout invoices that sellers submitted, one per payment hash, the newest last. */
export function evolvePayoutInvoices(
  { payoutInvoices: invoices }: PlacedOrder,
  { type, data }: OrderFact,
): readonly SubmittedPayoutInvoice[] {
  switch (type) {
    // The order has recorded that a seller submitted a payout invoice.
    case 'PayoutInvoiceSubmittedRecorded': {
      const otherInvoices = invoices.filter(({ paymentHash }) => paymentHash !== data.paymentHash)
      return [...otherInvoices, { ...data, amountMsat: BigInt(data.amountMsat), state: 'submitted', reason: null }]
    }
    case 'PayoutInvoiceAcceptedRecorded':
      return setInvoiceState(invoices, data.paymentHash, { state: 'accepted' })
    case 'PayoutInvoiceRefusedRecorded':
      return setInvoiceState(invoices, data.paymentHash, { state: 'refused', reason: data.reason })
    case 'AttemptStarted':
      // If the attempt starts with another seller than the payee, the invoice is superseded. It stays in the state, because
      // settlement may already have it.
      return invoices.map((invoice) =>
        invoice.attempt === data.attempt && invoice.payee !== data.candidate.sellerPubkey
          ? { ...invoice, state: 'superseded' }
          : invoice,
      )
    default:
      return invoices
  }
}

const setInvoiceState = (
  invoices: readonly SubmittedPayoutInvoice[],
  paymentHash: string,
  answer: Pick<SubmittedPayoutInvoice, 'state'> & Partial<Pick<SubmittedPayoutInvoice, 'reason'>>,
): readonly SubmittedPayoutInvoice[] =>
  invoices.map((invoice) =>
    invoice.paymentHash === paymentHash && invoice.state !== 'superseded' ? { ...invoice, ...answer } : invoice,
  )

/** Selects the invoices of sellers with an attempt of their own, also a failed one. A superseded invoice is excluded. */
export const selectPayableInvoices = (invoices: readonly SubmittedPayoutInvoice[]): readonly SubmittedPayoutInvoice[] =>
  invoices.filter(({ state }) => state !== 'superseded')

/** Whether the seller was paid, so that no other invoice is accepted. A payout status is `<what> <detail>`. */
export const isPayoutPaid = ({ payoutStatuses }: PlacedOrder): boolean =>
  payoutStatuses.some((status) => status.startsWith('paid '))
