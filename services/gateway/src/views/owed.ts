import type { Creditor, SettlementFact } from '@penstock/contracts/settlement.ts'

/** What settlement goes by when it pays a seller: see `thenPay` and `evolvePayout` there. */
export type Owed = {
  /** Of the outpoint that was noted last. */
  readonly sellerPubkey: string | null
  /** By the books; nothing before the buyer's payment is settled, and nothing when its creditor is paid. */
  readonly amountMsat: string
  /** The seller, or the buyer where the seller's share goes back to it. */
  readonly creditor: Creditor
  /** By payment hash, those that were ever offered. */
  readonly invoices: Readonly<Record<string, Invoice>>
  /** By `keyOf`: the payment hash of the invoice that the creditor wants to be paid to. */
  readonly usable: Readonly<Record<string, string>>
  readonly isPaying: boolean
}

type Invoice = { readonly payee: string; readonly amountMsat: string; readonly creditor: Creditor }

export const nothingOwed: Owed = {
  sellerPubkey: null,
  amountMsat: '0',
  creditor: 'seller',
  invoices: {},
  usable: {},
  isPaying: false,
}

/** The buyer may be paid at any node. */
const BUYER = 'buyer'
const keyOf = (creditor: Creditor, payee: string): string => (creditor === 'buyer' ? BUYER : payee)

/** Whose invoice counts now. */
export const creditorKey = ({ creditor, sellerPubkey }: Owed): string => keyOf(creditor, sellerPubkey ?? '')

export function owedAfter(owed: Owed, { type, data }: SettlementFact): Owed {
  switch (type) {
    case 'OutpointNoted':
      return { ...owed, sellerPubkey: data.terms.sellerPubkey }
    case 'LedgerPosted': {
      const owing = data.entries.filter(({ account }) => account === 'payable' || account === 'owed-to-buyer')
      const amountMsat = owing.reduce((sum, entry) => sum - BigInt(entry.amountMsat), BigInt(owed.amountMsat))
      return { ...owed, amountMsat: `${amountMsat}` }
    }
    case 'PayoutInvoiceOffered': {
      const { paymentHash, payee, amountMsat, creditor } = data
      return { ...owed, invoices: { ...owed.invoices, [paymentHash]: { payee, amountMsat, creditor } } }
    }
    case 'PayoutInvoiceTaken': {
      const invoice = owed.invoices[data.paymentHash]
      return invoice ? { ...owed, usable: { ...owed.usable, [keyOf(invoice.creditor, invoice.payee)]: data.paymentHash } } : owed
    }
    case 'PayableClosed':
      return { ...owed, creditor: 'buyer' }
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
 * Whether its creditor can only be paid once it gives an invoice. One that has expired is still counted on: that it has is
 * learnt when it is to be paid, and told by the failure.
 */
function isInvoiceMissing(owed: Owed): boolean {
  const { amountMsat, invoices, usable, isPaying } = owed
  if (isPaying || BigInt(amountMsat) <= 0n) return false
  const paymentHash = usable[creditorKey(owed)] ?? ''
  // One of another amount was meant for another attempt of the same seller.
  return invoices[paymentHash]?.amountMsat !== amountMsat
}

/** @see isInvoiceMissing */
export const isInvoiceDue = (owed: Owed): boolean => owed.creditor === 'seller' && isInvoiceMissing(owed)

/** What the buyer can be paid once it gives an invoice. @returns msat; undefined where nothing is, or one is there */
export const owedToBuyerMsat = (owed: Owed): bigint | undefined =>
  owed.creditor === 'buyer' && isInvoiceMissing(owed) ? BigInt(owed.amountMsat) : undefined

const without = (usable: Owed['usable'], paymentHash: string): Owed['usable'] =>
  Object.fromEntries(Object.entries(usable).filter(([, hash]) => hash !== paymentHash))
