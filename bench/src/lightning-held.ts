import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Person } from '@penstock/cluster/regtest/person.ts'
import { subscribeToInvoice } from 'lightning'

type Told = { readonly is_held?: boolean }

/** Notes when the market's own node has the payment of an order, whatever the market makes of it, and however late. */
export function watchHeld({ node: { lnd } }: Person, order: string, invoice: string, heldAt: Map<string, number>): () => void {
  heldAt.set(order, Number.NaN)
  const stream = subscribeToInvoice({ lnd, id: decodePaymentRequest(invoice)?.paymentHash ?? '' })
  stream.on('invoice_updated', ({ is_held }: Told) => {
    if (is_held === true && Number.isNaN(heldAt.get(order))) heldAt.set(order, Date.now())
  })
  // Who was not told of ends the run, with its name.
  stream.on('error', () => undefined)
  return () => stream.removeAllListeners('invoice_updated')
}
