import { match } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import { ask, on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a search has the order's id. */
export const reactionsToMatching: readonly Reaction[] = [
  on(match, 'Matched', (data, { aggregateId }) => [ask(order, aggregateId, 'RecordMatched', data)]),
  on(match, 'Unmatched', (data, { aggregateId }) => [ask(order, aggregateId, 'RecordUnmatched', data)]),
  on(match, 'Rereserved', ({ attempt }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordRereserved', { attempt, granted: true, reason: null }),
  ]),
  on(match, 'RereservationRefused', ({ attempt, reason }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordRereserved', { attempt, granted: false, reason }),
  ]),
  on(match, 'MatchReleased', ({ attempt, question }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordTold', { what: 'match-released', key: `${attempt}`, question }),
  ]),
  on(match, 'MatchUsed', ({ attempt }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordTold', { what: 'match-used', key: `${attempt}` }),
  ]),
]
