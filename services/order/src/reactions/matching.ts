import { matchContract } from '@penstock/contracts/matching.ts'
import { on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a search has the order's id. */
export const reactionsToMatching: readonly Reaction[] = [
  on(matchContract, 'Matched', 'order.RecordMatched', (data, { aggregateId }) => [{ id: aggregateId, data }]),
  on(matchContract, 'Unmatched', 'order.RecordUnmatched', (data, { aggregateId }) => [{ id: aggregateId, data }]),
  on(matchContract, 'ReservationRenewed', 'order.RecordReservationRenewal', ({ attempt }, { aggregateId }) => [
    { id: aggregateId, data: { attempt, granted: true, reason: null } },
  ]),
  on(matchContract, 'ReservationRenewalRefused', 'order.RecordReservationRenewal', ({ attempt, reason }, { aggregateId }) => [
    { id: aggregateId, data: { attempt, granted: false, reason } },
  ]),
]
