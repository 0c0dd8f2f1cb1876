import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Enrich } from '@penstock/runtime/service.ts'

/** The market's own node. */
export type OrderPorts = { readonly lightning: Pick<Lightning, 'info'> }

/** Payout invoices must be of the network that our node is on. */
export const network: Enrich<OrderPorts> = async (_data, { ports }) => ({ network: (await ports.lightning.info()).network })
