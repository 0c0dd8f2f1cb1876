import { isOwing, type Settlement } from '@penstock/settlement/state.ts'
import { isUndecided } from '@penstock/settlement/withholding.decide.ts'
import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import type { Asking } from './fold.ts'

/** @returns orders whose payout waits for an operator to decide who gets it */
export const undecidedOrders = (asking: readonly Asking[], height: number): readonly string[] =>
  asking
    .filter(({ stream, state }) => {
      if (categoryOf(stream) !== 'settlement') return false
      const money = state as Settlement // the category's own
      return isOwing(money) && !money.payout.paying && isUndecided(money.payout, height)
    })
    .map(({ stream }) => aggregateIdOf(stream))

/** What the operator of a test says: the seller opened a channel, and nothing shows that it lied. */
export const FOR_THE_SELLER = {
  to: 'seller',
  by: 'operator',
  reason: 'The wait is over, and nothing speaks against the channel.',
} as const
