import type { OrderCommand } from '@penstock/contracts/order.ts'

/** What a command of this type carries on the wire. */
export type DataOf<Type extends OrderCommand['type']> = Extract<OrderCommand, { type: Type }>['data']
