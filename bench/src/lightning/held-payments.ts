import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { RegtestNode } from '@penstock/cluster/regtest/node-role.ts'
import { subscribeToInvoice } from 'lightning'

type InvoiceUpdate = { readonly is_held?: boolean }

/** Records in `heldAt` when the market's node reports the order's payment as held (ms since 1970). @returns a stop function */
export function watchHeldPayment(
  { lnd: { lnd } }: RegtestNode,
  order: string,
  invoice: string,
  heldAt: Map<string, number>,
): () => void {
  heldAt.set(order, Number.NaN)
  const stream = subscribeToInvoice({ lnd, id: decodePaymentRequest(invoice)?.paymentHash ?? '' })
  stream.on('invoice_updated', ({ is_held }: InvoiceUpdate) => {
    if (is_held === true && Number.isNaN(heldAt.get(order))) heldAt.set(order, Date.now())
  })
  // A lost subscription leaves the time at NaN. The wait for the payments then fails with the order's id.
  stream.on('error', () => undefined)
  return () => stream.removeAllListeners('invoice_updated')
}
