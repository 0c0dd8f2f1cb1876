import { isOpenStatus, phaseOf, type OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderModel } from './order-model.ts'
import type { PendingWork } from './pending-work.ts'

/** Returns the party for which an order of this status may wait at quiescence. */
function findExpectedParty(status: OrderStatus): 'no one' | 'buyer' | 'lease' | 'is over' {
  if (phaseOf(status) === 'payment') return 'buyer'
  if (status === 'VALID_CHANNEL_OPENING') return 'lease'
  return isOpenStatus(status) ? 'no one' : 'is over'
}

/** Returns whether an order has neither ended nor reached its channel lease. */
export const isOrderOpen = ({ status }: Pick<OrderModel, 'status'>): boolean => status !== undefined && isOpenStatus(status)

/**
 * Finds lost orders, which are unfinished but have no pending work. Each unfinished order must have pending work that waits for a
 * party.
 * @returns a sentence for each lost order
 */
export function checkOrders(orders: readonly OrderModel[], pendingWork: readonly PendingWork[]): readonly string[] {
  const awaited = new Set(pendingWork.flatMap(({ stream, party }) => (party === null ? [] : [stream])))
  return orders
    .filter((order) => isOrderLost(order, awaited))
    .map(({ id, status }) => `order ${id} (${status ?? 'no order'}) is lost`)
}

function isOrderLost({ id, status, isHeld, placeBefore, paymentHashes }: OrderModel, awaited: ReadonlySet<string>): boolean {
  // Order drops a late command to place an order. A command that is not late yet is pending work.
  if (status === undefined) return placeBefore === undefined || paymentHashes.length > 0
  switch (findExpectedParty(status)) {
    case 'is over':
      return false
    case 'lease':
      return !awaited.has(`channel-${id}`)
    case 'buyer':
      return isHeld || !awaited.has(`settlement-${id}`)
    case 'no one':
      return true
  }
}
