/**
 * The heights of a held payment, counted back from E: the lowest expiry height of the HTLCs that pay it (decision A4).
 *
 *     held                                        E-30   E-27  E-24        E-18        E-12          E
 *      |---------------|-------------|-------------|------|-----|-----------|-----------|------------|
 *      | open windows  | the funding | its confir- | spare      | our node  | lnd       | lnd claims |
 *      | of all        | confirms    | mations,    | blocks     | may still | cancels   | on the     |
 *      | attempts      | within      | at least 6  |      | try | be down   | the       | chain      |
 *                      |                                  | to  |           | payment   | (E-10)     |
 *              last broadcast                             | reach the buyer's node
 *                                                               |           |           |
 *                                             the guard settles |           |           a payment that is settled
 *                                             or cancels        |           |           later may be lost
 *                                                               the last height at which the guard decides
 *
 * The sum of all blocks from `held` to E is the CLTV delta of the invoice.
 */
export const holdHeights = {
  /** At E - 24 the guard settles or cancels. */
  guardBlocks: 24,
  /** Spare blocks before that height: the payer's node may add or lose some blocks, and blocks may come fast. */
  spareBlocks: 6,
  /** Our node tries to reach the buyer's node in these blocks before the guard decides, and at that height (decision A4a). */
  reachBlocks: 3,
  /** A guard whose node is not ready waits until E - 18. lnd may cancel by itself only after that height. */
  latestDecisionBlocks: 18,
  /** lnd cancels a payment that is not settled by E - 12. The payer may have reclaimed a payment that is settled later. */
  claimBlocks: 12,
  /** The least number of blocks for confirmations. An announcement, the usual proof of a channel, needs them. */
  leastConfirmationBlocks: 6,
  minCltvDelta: 144,
  /** The longest time, in blocks, for which a payment is held. */
  maxCltvDelta: 288,
}

/** The block counts that an order's own terms add to the sum. */
export type FundingBlocks = {
  readonly guardBlocks: number
  /** bLIP-51's funding_confirms_within_blocks. */
  readonly fundingConfirmsWithinBlocks: number
  readonly confirmations: number
}

/** @returns blocks from the last broadcast of a funding transaction to E */
const blocksAfterBroadcast = ({ guardBlocks, fundingConfirmsWithinBlocks, confirmations }: FundingBlocks): number =>
  guardBlocks +
  holdHeights.spareBlocks +
  fundingConfirmsWithinBlocks +
  Math.max(confirmations, holdHeights.leastConfirmationBlocks)

/** @returns the CLTV delta that an invoice needs. No invoice is made if it is above `maxCltvDelta`. */
export const neededCltvDelta = (openWindowsBlocks: number, funding: FundingBlocks): number =>
  Math.max(openWindowsBlocks + blocksAfterBroadcast(funding), holdHeights.minCltvDelta)

/** @returns the last height at which a seller may broadcast its funding and be proven in time; an attempt may start until then */
export const lastBroadcastHeight = (expiryHeight: number, funding: FundingBlocks): number =>
  Math.max(0, expiryHeight - blocksAfterBroadcast(funding))
