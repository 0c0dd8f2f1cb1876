import { order } from '@penstock/contracts/order.ts'
import { ask } from '@penstock/runtime/service.ts'
import type { Gateway } from '../ports.ts'

/** Ends an order that is not paid yet. The order refuses it once its payment is held. */
export const withdrawOrder = ({ send, ids }: Pick<Gateway, 'send' | 'ids'>, orderId: string, reason: string): Promise<void> =>
  send(ask(order, orderId, 'Withdraw', { reason }), { commandId: ids.uuid(), correlation: orderId })
