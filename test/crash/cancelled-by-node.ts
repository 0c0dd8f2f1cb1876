import { HOLD_EXPIRY_DELTA } from '@penstock/adapters/simnet/payments/invoices.ts'
import type { HeightRange } from '../support/invariants/uptime.ts'
import type { OrderModel } from '../support/invariants/order-model.ts'
import type { NetworkBlock } from '../support/invariants/network-state.ts'

/** The number of blocks within which a market continues pending work after a crash, because recovery runs at its start. */
const MIN_UP_BLOCKS = 8

/**
 * Finds payments that the node itself cancelled at E − 12. The reason in the facts does not matter. If the market requests a
 * cancellation and never carries it out, the facts keep the market's reason. All scenarios end before E − 12, so a later
 * cancellation is the node's. @param uptime the heights at which the market was up @returns one sentence per payment
 */
export const findCancelledByNode = (
  orders: readonly Pick<OrderModel, 'id' | 'expiryHeight' | 'cancellations'>[],
  blocks: readonly NetworkBlock[],
  uptime: readonly HeightRange[],
): readonly string[] => {
  const times = new Map(blocks.map(({ height, time }) => [height, time]))
  return orders.flatMap(({ id, expiryHeight = Number.POSITIVE_INFINITY, cancellations }) => {
    const cancelHeight = expiryHeight - HOLD_EXPIRY_DELTA
    const isLate = cancellations.some(({ at }) => at >= (times.get(cancelHeight) ?? Number.POSITIVE_INFINITY))
    const upBlocks = uptime.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to + 1, cancelHeight) - from), 0)
    if (!isLate || upBlocks < MIN_UP_BLOCKS) return []
    return [`order ${id}: its hold was cancelled at height ${cancelHeight} or later, by the node itself and not by the market`]
  })
}
