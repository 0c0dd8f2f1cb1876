/** Which key and hash an invoice is made with. The preimage stays where it is. */
export type HoldHash = { readonly keyId: string; readonly paymentHash: string }

/**
 * The secrets behind hold invoices. A preimage is derived when it is needed and is never kept, logged or
 * put into a message: whoever knows it can take the buyer's money.
 */
export interface Keyring {
  /** The hash of an order's invoice under the current key. `issue` counts the invoices of an order, from 1. */
  paymentHashOf(orderId: string, issue: number): HoldHash
  /** @returns the preimage in hex. @throws Fault where the key is not there: old keys stay until no hold uses them */
  preimageOf(keyId: string, orderId: string, issue: number): string
}
