import type { SettlementFact } from '@penstock/contracts/settlement.ts'

/** What settlement goes by when it pays a seller: see `thenPay` and `evolvePayout` there. */
export type Owed = {
  /** Of the outpoint that was noted last. */
  readonly sellerPubkey: string | null
  /** By the books; nothing before the buyer's payment is settled, and nothing when the seller is paid. */
  readonly amountMsat: string
  /** By payment hash, those that were ever offered. */
  readonly invoices: Readonly<Record<string, { readonly payee: string; readonly amountMsat: string }>>
  /** By the seller's key: the payment hash of the invoice that it wants to be paid to. */
  readonly usable: Readonly<Record<string, string>>
  readonly isPaying: boolean
}

export const nothingOwed: Owed = { sellerPubkey: null, amountMsat: '0', invoices: {}, usable: {}, isPaying: false }

export function owedAfter(owed: Owed, { type, data }: SettlementFact): Owed {
  switch (type) {
    case 'OutpointNoted':
      return { ...owed, sellerPubkey: data.terms.sellerPubkey }
    case 'LedgerPosted': {
      const payable = data.entries.filter(({ account }) => account === 'payable')
      const amountMsat = payable.reduce((sum, entry) => sum - BigInt(entry.amountMsat), BigInt(owed.amountMsat))
      return { ...owed, amountMsat: `${amountMsat}` }
    }
    case 'PayoutInvoiceOffered': {
      const { paymentHash, payee, amountMsat } = data
      return { ...owed, invoices: { ...owed.invoices, [paymentHash]: { payee, amountMsat } } }
    }
    case 'PayoutInvoiceTaken': {
      const invoice = owed.invoices[data.paymentHash]
      return invoice ? { ...owed, usable: { ...owed.usable, [invoice.payee]: data.paymentHash } } : owed
    }
    case 'PayoutRequested':
      return { ...owed, isPaying: true }
    case 'PayoutSucceeded':
      return { ...owed, isPaying: false }
    case 'PayoutFailed':
      // Where it is not tried again it waits for another invoice.
      return { ...owed, isPaying: false, ...(data.retryAt === null && { usable: without(owed.usable, data.paymentHash) }) }
    default:
      return owed
  }
}

/**
 * Whether the seller can only be paid once it gives an invoice. One that has expired is still counted on: that it has is
 * learnt when it is to be paid, and told by the failure.
 */
export function isInvoiceDue({ sellerPubkey, amountMsat, invoices, usable, isPaying }: Owed): boolean {
  if (isPaying || BigInt(amountMsat) <= 0n) return false
  const paymentHash = usable[sellerPubkey ?? ''] ?? ''
  // One of another amount was meant for another attempt of the same seller.
  return invoices[paymentHash]?.amountMsat !== amountMsat
}

const without = (usable: Owed['usable'], paymentHash: string): Owed['usable'] =>
  Object.fromEntries(Object.entries(usable).filter(([, hash]) => hash !== paymentHash))
