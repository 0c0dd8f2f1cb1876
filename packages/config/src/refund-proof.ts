import { createHmac } from 'node:crypto'
import { isSameProof } from './decision-proof.ts'

/** An invoice by which the buyer of an order gets the amount that is owed to it. */
export type RefundInvoice = { readonly orderId: string; readonly request: string }

/**
 * @param key the preimage of the order's payment, which the buyer learned when its payment was settled, or the operator's
 *   decision key; both in hex
 * @returns the proof in hex that the buyer or the operator gives this invoice, which the gateway cannot make by itself
 */
export const proveRefund = (key: string, { orderId, request }: RefundInvoice): string =>
  createHmac('sha256', Buffer.from(key, 'hex'))
    // A JSON array keeps the parts separate, whatever characters they contain.
    .update(JSON.stringify(['penstock/refund/v1', orderId, request]))
    .digest('hex')

/** Whether one of these keys proves that the buyer or the operator gives the invoice. */
export const isProvenRefund = (keys: readonly string[], refund: RefundInvoice, proof: string): boolean =>
  keys.some((key) => isSameProof(proveRefund(key, refund), proof))
