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

/** Whether a payment that the node takes at this height is sure to be ours. */
export const isClaimable = ({ payment }: Hold, height: number): boolean =>
  payment !== null && height < payment.expiryHeight - CLAIM_BLOCKS

/** Whether a node that has just come back may still be waited for. */
export const mayWait = ({ payment }: Hold, height: number): boolean =>
  payment !== null && height < payment.expiryHeight - LAST_WORD_BLOCKS

/** The guard has to come before the node's own last line; one that nobody knows might lie anywhere. */
export const isTooHasty = (holdExpiryDelta: number | null, guardBlocks: number): boolean =>
  holdExpiryDelta === null || holdExpiryDelta >= guardBlocks || holdExpiryDelta > LAST_WORD_BLOCKS
