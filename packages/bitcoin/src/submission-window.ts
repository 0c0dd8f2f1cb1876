/** The maximum number of outpoints that a seller may submit in one attempt. To correct a mistake, two are enough. */
export const MAX_OUTPOINTS_PER_ATTEMPT = 5

/** Without a mempool, a chain source shows a transaction only at its first confirmation. */
const MIN_SEEN_BLOCKS_WITHOUT_MEMPOOL = 36
/** The number of blocks at the end of the window that are too few for a new transaction to be seen. */
const LAST_BLOCKS = 2

/** @returns the number of blocks after the first accepted outpoint within which a transaction has to be seen */
export const seenBlocksOf = (fundingSeenBlocks: number, seesMempool: boolean): number =>
  seesMempool ? fundingSeenBlocks : Math.max(fundingSeenBlocks, MIN_SEEN_BLOCKS_WITHOUT_MEMPOOL)

/** The heights of an attempt. Its first accepted outpoint fixes them, and later outpoints do not move them (decision A4a). */
export type SubmissionWindow = {
  /** At a block of this height the payment is cancelled, if no submitted transaction was seen before. */
  readonly seenBefore: number
  /** From this height on no further outpoint is accepted, because its transaction could not be seen in time. */
  readonly namedBefore: number
  /** The last height at which a publication can still be seen within the window. */
  readonly publishUntil: number
}

/** @param atHeight the chain height at which the first outpoint was accepted */
export function computeSubmissionWindow(
  atHeight: number,
  rules: {
    readonly fundingSeenBlocks: number
    readonly fundingConfirmsWithinBlocks: number
    readonly seesMempool: boolean
  },
): SubmissionWindow {
  const { fundingSeenBlocks, fundingConfirmsWithinBlocks, seesMempool } = rules
  const seenBefore = atHeight + seenBlocksOf(fundingSeenBlocks, seesMempool)
  return seesMempool
    ? { seenBefore, namedBefore: seenBefore - LAST_BLOCKS, publishUntil: seenBefore - 1 }
    : {
        seenBefore,
        namedBefore: seenBefore - fundingConfirmsWithinBlocks,
        publishUntil: seenBefore - fundingConfirmsWithinBlocks,
      }
}
