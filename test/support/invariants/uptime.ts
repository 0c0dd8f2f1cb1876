import type { OrderModel } from './order-model.ts'
import type { NetworkBlock, NetworkState } from './network-state.ts'

/** A range of block heights that includes both ends. */
export type HeightRange = { readonly from: number; readonly to: number }

/** The numbers of blocks before an HTLC's expiry height at which the guard ends its hold, and at which the node cancels it. */
const GUARD_BLOCKS = 24
const NODE_BLOCKS = 12
/** The number of consecutive blocks of uptime within which the guard must end a hold, because it checks at each block. */
const MIN_UP_BLOCKS = 8
/** The same for a requested settlement or cancellation. The market retries its call within 5 s, and a block takes 0.15 s. */
const MIN_UP_BLOCKS_FOR_REQUEST = 40

/** Removes the heights of `others` from `spans`. */
export const subtractRanges = (spans: readonly HeightRange[], others: readonly HeightRange[]): readonly HeightRange[] =>
  others.reduce(
    (remaining, other) =>
      remaining.flatMap(({ from, to }) =>
        [
          { from, to: Math.min(to, other.from - 1) },
          { from: Math.max(from, other.to + 1), to },
        ].filter((range) => range.from <= range.to),
      ),
    spans,
  )

/** Counts the longest run of consecutive blocks from `firstHeight` to `lastHeight` in which the market was up. */
const countUpBlocks = (uptime: readonly HeightRange[], firstHeight: number, lastHeight: number): number =>
  Math.max(0, ...uptime.map(({ from, to }) => Math.min(to, lastHeight) - Math.max(from, firstHeight) + 1))

/**
 * Finds holds that the node itself cancelled at E − 12 although the market was up. The market must never rely on the node's own
 * timeout. The facts record such a cancellation with the reason `node`, or with the reason of an earlier request of the market.
 * After a request, the time of the cancellation shows whether the node did it.
 * @param uptime the height ranges in which the market was up and its node answered
 * @returns a sentence for each such hold
 */
export const checkGuard = (
  orders: readonly Pick<OrderModel, 'id' | 'expiryHeight' | 'cancellations' | 'cancelRequestedAt'>[],
  { height }: Pick<NetworkState, 'height'>,
  uptime: readonly HeightRange[],
  blocks: readonly NetworkBlock[],
): readonly string[] =>
  orders.flatMap(({ id, expiryHeight, cancellations, cancelRequestedAt }) => {
    if (expiryHeight === undefined) return []
    const firstHeight = expiryHeight - GUARD_BLOCKS
    const lastHeight = expiryHeight - NODE_BLOCKS - 1
    if (cancellations.some(({ reason }) => reason === 'node')) {
      const upBlocks = countUpBlocks(uptime, firstHeight, lastHeight)
      // A node never cancels before E − 12, so an earlier cancellation by the node is always a violation.
      if (height > lastHeight && upBlocks < MIN_UP_BLOCKS) return []
      return [
        `order ${id}: the node itself cancelled its hold, and the market was up for ${upBlocks} blocks from ${firstHeight} on`,
      ]
    }
    const nodeCancelBlock = blocks.find((block) => block.height === lastHeight + 1)
    if (cancelRequestedAt === undefined || !nodeCancelBlock || !cancellations.some(({ at }) => at >= nodeCancelBlock.time))
      return []
    const requestedHeight = findHeightAt(blocks, cancelRequestedAt)
    const upBlocks = countUpBlocks(uptime, requestedHeight, lastHeight)
    if (upBlocks < MIN_UP_BLOCKS_FOR_REQUEST) return []
    return [
      `order ${id}: its hold should have been cancelled from ${requestedHeight} on, but the node cancelled it; the market was up for ${upBlocks} blocks`,
    ]
  })

/**
 * Checks that each incident has an expected cause. In the campaigns, re-organisations may remove fundings, and a market that was
 * down may miss a settlement. There is no cause for other incidents.
 * @returns a sentence for each incident without such a cause
 */
export const checkIncidents = (
  orders: readonly Pick<OrderModel, 'id' | 'incidents' | 'settlementStartedAt'>[],
  uptime: readonly HeightRange[],
  blocks: readonly NetworkBlock[],
): readonly string[] =>
  orders.flatMap(({ id, incidents, settlementStartedAt }) =>
    incidents.flatMap(({ what: kind, height }) => {
      if (kind === 'funding-reorged') return []
      if (kind !== 'settle-missed' && kind !== 'hold-lost-while-settling')
        return [`order ${id}: nothing explains its incident "${kind}"`]
      const requestedHeight = findHeightAt(blocks, settlementStartedAt ?? 0)
      const upBlocks = countUpBlocks(uptime, requestedHeight, height)
      return upBlocks < MIN_UP_BLOCKS_FOR_REQUEST
        ? []
        : [
            `order ${id}: "${kind}", and the market was up for ${upBlocks} blocks since its settlement started at ${requestedHeight}`,
          ]
    }),
  )

/** Finds the height of the newest block at this time. Block timestamps are rounded to seconds. */
const findHeightAt = (blocks: readonly NetworkBlock[], at: number): number =>
  blocks.findLast(({ time }) => time <= at)?.height ?? 0
