import type { Network } from '@penstock/bitcoin/bolt11.ts'
import type { Enrich } from '@penstock/runtime/service.ts'

/** The network that payout invoices have to be for. */
export type OrderPorts = { readonly network: Network }

export const network: Enrich<OrderPorts> = (_data, { ports }) => Promise.resolve({ network: ports.network })
