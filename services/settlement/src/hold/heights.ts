import { holdHeights } from '@penstock/contracts/order/heights.ts'
import type { Hold } from './hold.ts'

/** The height from which on the guard settles or cancels the hold; undefined while no payment is held. */
export const lastHeightOfHold = ({ request, payment }: Hold): number | undefined =>
  request && payment ? payment.expiryHeight - request.guardBlocks : undefined

/**
 * Whether the outcome of an attempt to reach the buyer counts. It decides only over a rails seller's channel that only the chain
 * proves, and only from E − 27 on.
 */
function mayReachTryDecide({ status, registered, reachTries }: Hold, lastHeight: number | undefined, height: number): boolean {
  if (status !== 'held' || !registered?.terms.rails || lastHeight === undefined || reachTries?.reached) return false
  return height >= lastHeight - holdHeights.reachBlocks
}

/** Whether our node still has to try to reach the buyer at this height. One attempt counts for all replicas. */
export const isReachTryDue = (hold: Hold, height: number): boolean =>
  mayReachTryDecide(hold, lastHeightOfHold(hold), height) && height > (hold.reachTries?.height ?? -1)

/** Whether an outcome is recorded. Replicas may try at the same time, so a success counts after a failure at this height. */
export const isNewReachTry = (hold: Hold, height: number, reached: boolean): boolean =>
  isReachTryDue(hold, height) || (reached && mayReachTryDecide(hold, lastHeightOfHold(hold), height))

/** Whether the height is below E − 12. The payer may have reclaimed a payment that is settled later. */
export const isClaimable = ({ payment }: Hold, height: number): boolean =>
  payment !== null && height < payment.expiryHeight - holdHeights.claimBlocks

/** Whether enough blocks are left to wait for a node that is not ready, or for a missing proof. */
export const mayDefer = ({ payment }: Hold, height: number): boolean =>
  payment !== null && height < payment.expiryHeight - holdHeights.latestDecisionBlocks

/** The guard has to decide before lnd itself cancels the invoice. An unknown delta counts as too large. */
export const isHoldExpiryDeltaTooLarge = (holdExpiryDelta: number | null, guardBlocks: number): boolean =>
  holdExpiryDelta === null || holdExpiryDelta >= guardBlocks || holdExpiryDelta >= holdHeights.latestDecisionBlocks
