import type { Hold } from './hold.ts'

/**
 * Before its end the node goes to the chain for what it has taken (lnd: 10 blocks) and gives back what it has not (12).
 * What is taken later, the payer may have taken back, while the node shows it as settled all the same.
 */
const CLAIM_BLOCKS = 12
/** The node's own last line is 12 to 18 blocks before the end; the guard has spoken by then. */
const LAST_WORD_BLOCKS = 18

/** From this height on the guard settles or cancels; undefined while nothing is held. */
export const lastHeightOf = ({ request, payment }: Hold): number | undefined =>
  request && payment ? payment.expiryHeight - request.guardBlocks : undefined

/** For so many blocks before the last height our node tries to reach the buyer's, besides that height itself. */
const REACH_BLOCKS = 3

/**
 * Whether an outcome of a try counts: the money is decided by it where a rails seller's channel is proven by the chain
 * alone, and never else (decision A4a: from E - 27).
 */
function mayReachDecide({ status, noted, reachTries }: Hold, lastHeight: number | undefined, height: number): boolean {
  if (status !== 'held' || !noted?.terms.rails || lastHeight === undefined || reachTries?.reached) return false
  return height >= lastHeight - REACH_BLOCKS
}

/** Whether our node has to try at this height: once is enough for all replicas. */
export const isReachTryDue = (hold: Hold, height: number): boolean =>
  mayReachDecide(hold, lastHeightOf(hold), height) && height > (hold.reachTries?.height ?? -1)

/** Replicas may try side by side: that one of them reached the buyer is news, also after another one's failure at this height. */
export const isReachTryNews = (hold: Hold, height: number, reached: boolean): boolean =>
  isReachTryDue(hold, height) || (reached && mayReachDecide(hold, lastHeightOf(hold), height))

/** Whether a payment that the node takes at this height is sure to be ours. */
export const isClaimable = ({ payment }: Hold, height: number): boolean =>
  payment !== null && height < payment.expiryHeight - CLAIM_BLOCKS

/** Whether a node that has just come back may still be waited for. */
export const mayWait = ({ payment }: Hold, height: number): boolean =>
  payment !== null && height < payment.expiryHeight - LAST_WORD_BLOCKS

/** Guard and node never speak in the same block (decision A4); a line that nobody knows might lie anywhere. */
export const isTooHasty = (holdExpiryDelta: number | null, guardBlocks: number): boolean =>
  holdExpiryDelta === null || holdExpiryDelta >= guardBlocks || holdExpiryDelta >= LAST_WORD_BLOCKS
