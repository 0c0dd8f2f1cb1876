import type { Creditor, SettlementFact } from '@penstock/contracts/settlement.ts'

/** The state from which settlement pays a creditor: see `requestDuePayout` and `evolvePayout` in settlement. */
export type PayoutDue = {
  /** The seller of the last recorded outpoint. */
  readonly sellerPubkey: string | null
  /** The amount due by the ledger: '0' before the buyer's payment is settled, and again once the creditor is paid. */
  readonly amountMsat: string
  /** The seller, or the buyer if the seller's share is owed to the buyer. */
  readonly creditor: Creditor
  /** All submitted invoices by payment hash. */
  readonly invoices: Readonly<Record<string, DueInvoice>>
  /** The payment hash of each creditor's newest accepted invoice, by `toCreditorKey`. */
  readonly usable: Readonly<Record<string, string>>
  readonly isPaying: boolean
}

type DueInvoice = { readonly payee: string; readonly amountMsat: string; readonly creditor: Creditor }

export const noPayoutDue: PayoutDue = {
  sellerPubkey: null,
  amountMsat: '0',
  creditor: 'seller',
  invoices: {},
  usable: {},
  isPaying: false,
}

/** The buyer has one key, because it may be paid at any node. */
const BUYER_KEY = 'buyer'
const toCreditorKey = (creditor: Creditor, payee: string): string => (creditor === 'buyer' ? BUYER_KEY : payee)

/** Returns the key of the current creditor in `usable`. */
export const getCreditorKey = ({ creditor, sellerPubkey }: PayoutDue): string => toCreditorKey(creditor, sellerPubkey ?? '')

export function evolvePayoutDue(due: PayoutDue, { type, data }: SettlementFact): PayoutDue {
  switch (type) {
    case 'OutpointRegistered':
      return { ...due, sellerPubkey: data.terms.sellerPubkey }
    case 'LedgerPosted': {
      const payableEntries = data.entries.filter(({ account }) => account === 'payable' || account === 'owed-to-buyer')
      const amountMsat = payableEntries.reduce((sum, entry) => sum - BigInt(entry.amountMsat), BigInt(due.amountMsat))
      return { ...due, amountMsat: `${amountMsat}` }
    }
    case 'PayoutInvoiceSubmitted': {
      const { paymentHash, payee, amountMsat, creditor } = data
      return { ...due, invoices: { ...due.invoices, [paymentHash]: { payee, amountMsat, creditor } } }
    }
    case 'PayoutInvoiceAccepted': {
      const invoice = due.invoices[data.paymentHash]
      return invoice
        ? { ...due, usable: { ...due.usable, [toCreditorKey(invoice.creditor, invoice.payee)]: data.paymentHash } }
        : due
    }
    case 'PayableClosed':
      return { ...due, creditor: 'buyer' }
    case 'PayoutRequested':
      return { ...due, isPaying: true }
    case 'PayoutSucceeded':
      return { ...due, isPaying: false }
    case 'PayoutFailed':
      // Without a retry the invoice is dropped, and the payout waits for another invoice.
      return { ...due, isPaying: false, ...(data.retryAt === null && { usable: removeInvoice(due.usable, data.paymentHash) }) }
    default:
      return due
  }
}

/**
 * Whether the creditor must submit an invoice before it can be paid. An expired invoice still counts as submitted, because only
 * the failure of its payment reports the expiry.
 */
function isInvoiceMissing(due: PayoutDue): boolean {
  const { amountMsat, invoices, usable, isPaying } = due
  if (isPaying || BigInt(amountMsat) <= 0n) return false
  const paymentHash = usable[getCreditorKey(due)] ?? ''
  // An invoice with another amount belongs to another attempt of the same seller.
  return invoices[paymentHash]?.amountMsat !== amountMsat
}

/** @see isInvoiceMissing */
export const isInvoiceDue = (due: PayoutDue): boolean => due.creditor === 'seller' && isInvoiceMissing(due)

/** @returns the amount in msat that needs an invoice of the buyer; undefined if no amount is due or an invoice is accepted */
export const getDueToBuyerMsat = (due: PayoutDue): bigint | undefined =>
  due.creditor === 'buyer' && isInvoiceMissing(due) ? BigInt(due.amountMsat) : undefined

const removeInvoice = (usable: PayoutDue['usable'], paymentHash: string): PayoutDue['usable'] =>
  Object.fromEntries(Object.entries(usable).filter(([, hash]) => hash !== paymentHash))
