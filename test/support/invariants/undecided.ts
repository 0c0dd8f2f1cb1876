import { isOwing, type Settlement } from '@penstock/settlement/state.ts'
import { isUndecided } from '@penstock/settlement/payout/withholding.decide.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { PendingSteps } from './fold.ts'

/** @returns the ids of orders whose payout waits until an operator decides between the seller and the buyer */
export const findUndecidedOrders = (pendingSteps: readonly PendingSteps[], height: number): readonly string[] =>
  pendingSteps
    .filter(({ stream, state }) => {
      if (categoryOf(stream) !== 'settlement') return false
      const settlement = state as Settlement // The category determines the type.
      return isOwing(settlement) && !settlement.payout.paying && isUndecided(settlement.payout, height)
    })
    .map(({ stream }) => aggregateIdOf(stream))

/** The operator's decision in tests: to pay the seller, because there is no evidence against its channel. */
export const DECISION_FOR_SELLER = {
  to: 'seller',
  by: 'operator',
  reason: 'The wait is over, and nothing speaks against the channel.',
} as const
