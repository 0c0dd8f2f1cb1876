import type { OrderCommand } from '@penstock/contracts/order.ts'

/** The data of a command as it is sent, without the fields that enrichment adds. */
export type CommandData<Type extends OrderCommand['type']> = Extract<OrderCommand, { type: Type }>['data']
