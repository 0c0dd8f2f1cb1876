/** Outpoints that one seller may name in its turn: a seller with an honest mistake needs one more, one that invents them many. */
export const MOST_NAMINGS = 5

/** Without a mempool a transaction shows with its first confirmation only, however early it was sent. */
const LEAST_SEEN_BLOCKS_WITHOUT_MEMPOOL = 36
/** Blocks at the end of the window that are too few for a new transaction to be seen. */
const LAST_BLOCKS = 2

/** @returns blocks from the first naming on within which a named transaction has to be seen */
export const seenBlocksOf = (fundingSeenBlocks: number, seesMempool: boolean): number =>
  seesMempool ? fundingSeenBlocks : Math.max(fundingSeenBlocks, LEAST_SEEN_BLOCKS_WITHOUT_MEMPOOL)

/** The heights of a seller's turn that follow from its first naming, whatever it names afterwards (decision A4a). */
export type NamingWindow = {
  /** A block of this height came, and no named transaction was seen: the payment goes back. */
  readonly seenBefore: number
  /** From this height on no other outpoint is taken: an honest seller could not have it seen in time. */
  readonly namedBefore: number
  /** The last height at which a publication can still be seen within the window. */
  readonly publishUntil: number
}

/** @param atHeight of the chain when the first naming was accepted */
export function namingWindow(
  atHeight: number,
  rules: {
    readonly fundingSeenBlocks: number
    readonly fundingConfirmsWithinBlocks: number
    readonly seesMempool: boolean
  },
): NamingWindow {
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
