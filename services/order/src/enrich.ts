import type { BitcoinNetwork } from '@penstock/bitcoin/bolt11.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { Enricher } from '@penstock/runtime/service.ts'

/** The network to which payout invoices must belong. */
export type OrderPorts = { readonly network: BitcoinNetwork }

export const enrichAccept: Enricher<OrderPorts> = (_data, { ports }) => Promise.resolve({ network: ports.network })

/** Compares with the current time, because the command may have waited before it is decided. */
export const enrichPlaceOrder = ({ invoiceBefore }: OrderTerms, { ports: { clock } }: Parameters<Enricher<OrderPorts>>[1]) =>
  Promise.resolve({ isLate: clock.now() > (invoiceBefore ?? Infinity) })
