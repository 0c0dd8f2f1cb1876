import type { BitcoinNetwork } from '@penstock/bitcoin/bolt11.ts'
import type { Enricher } from '@penstock/runtime/service.ts'

/** The network to which payout invoices must belong. */
export type OrderPorts = { readonly network: BitcoinNetwork }

export const enrichAccept: Enricher<OrderPorts> = (_data, { ports }) => Promise.resolve({ network: ports.network })
