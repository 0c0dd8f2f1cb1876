/** The key and the hash of an invoice. The preimage stays in the keyring. */
export type HoldHash = { readonly keyId: string; readonly paymentHash: string }

/** An operator's decision over a payout. */
export type OperatorDecision = { readonly orderId: string; readonly to: string; readonly by: string; readonly reason: string }

/** An invoice by which the buyer of an order gets the amount that is owed to it. */
export type RefundInvoice = { readonly orderId: string; readonly request: string }

/**
 * The secrets of hold invoices. A preimage is derived on demand. It is never stored, logged or put into a message, because
 * everyone who has the preimage can take the buyer's money.
 */
export interface Keyring {
  /** The hash of an order's invoice under the current key. `issue` counts the invoices of an order, from 1. */
  paymentHashOf(orderId: string, issue: number): HoldHash
  /** @returns the preimage in hex. @throws Fault if the key is missing; old keys must stay until no hold uses them */
  preimageOf(keyId: string, orderId: string, issue: number): string
  /** Whether somebody with the operator's decision key, which derives from a key of this ring, has made the proof. */
  isProven(decision: OperatorDecision, proof: string): boolean
  /** Whether somebody with the operator's decision key, or with the preimage of the order's first invoice, has made the proof. */
  isProvenRefund(refund: RefundInvoice, proof: string): boolean
}
