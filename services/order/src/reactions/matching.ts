import { command } from '@penstock/kernel/process.ts'
import { matchContract } from '@penstock/contracts/matching.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a search has the order's id. */
export const reactionsToMatching: readonly Reaction[] = [
  on(matchContract, 'Matched', (data, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordMatched', data }),
  ]),
  on(matchContract, 'Unmatched', (data, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordUnmatched', data }),
  ]),
  on(matchContract, 'ReservationRenewed', ({ attempt }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordReservationRenewal',
      data: { attempt, granted: true, reason: null },
    }),
  ]),
  on(matchContract, 'ReservationRenewalRefused', ({ attempt, reason }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordReservationRenewal', data: { attempt, granted: false, reason } }),
  ]),
  on(matchContract, 'MatchReleased', ({ attempt, requestNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordAcknowledgement',
      data: { what: 'match-released', key: `${attempt}`, requestNumber },
    }),
  ]),
  on(matchContract, 'MatchUsed', ({ attempt }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordAcknowledgement',
      data: { what: 'match-used', key: `${attempt}` },
    }),
  ]),
]
