import type { OrderFact } from '@penstock/contracts/order.ts'
import { accept } from '@penstock/kernel/decider.ts'
import type { CommandData } from '../types.ts'
import { orderFact, recordLateEvent, type OrderDecision, requestRelease } from '../outcomes.ts'
import { isFailed, isSettling, isValid, type PlacedOrder, WATCH_STOPPED } from '../state.ts'

/** The outpoint and the submission number of the watch that reports. */
type WatchReport = { readonly outpoint: string; readonly outpointNumber: number }

/**
 * Whether a report is about the accepted outpoint, from the watch of its latest submission. A seller may return to an earlier
 * outpoint, so the outpoint alone is not enough. A version that did not count submissions sends 0, which always matches.
 */
const isOfAcceptedOutpoint = ({ outpoint: accepted }: PlacedOrder, { outpoint, outpointNumber }: WatchReport): boolean =>
  accepted?.outpoint === outpoint && (outpointNumber === 0 || outpointNumber === accepted.number)

const isRelevantReport = (order: PlacedOrder, report: WatchReport): boolean =>
  isOfAcceptedOutpoint(order, report) && !isFailed(order)

export function recordFundingSeen(order: PlacedOrder, data: CommandData<'RecordFundingSeen'>): OrderDecision {
  const { outpoint } = data
  if (!isRelevantReport(order, data) || order.status !== 'SELLER_SENT_TRANSACTION') return accept()
  return accept(orderFact('FundingSeenRecorded', { outpoint }))
}

export function recordFundingConfirmed(order: PlacedOrder, data: CommandData<'RecordFundingConfirmed'>): OrderDecision {
  if (!isRelevantReport(order, data) || order.status === 'CHANNEL_MONITORING_FINISHED') return accept()
  const before = order.outpoint?.confirmation
  const { outpoint, height, channelId } = data
  if (before?.height === height && before.channelId === channelId) return accept()
  const confirmedFact = orderFact('FundingConfirmedRecorded', { outpoint, height, channelId })
  return order.status === 'SELLER_SENT_TRANSACTION'
    ? accept(orderFact('FundingSeenRecorded', { outpoint }), confirmedFact)
    : accept(confirmedFact)
}

export function recordConfirmationsReached(order: PlacedOrder, data: CommandData<'RecordConfirmationsReached'>): OrderDecision {
  const { outpoint, confirmations } = data
  if (!isRelevantReport(order, data) || isValid(order) || order.status === 'SELLER_OPENED_CHANNEL') return accept()
  return accept(orderFact('ChannelOpened', { outpoint, confirmations }))
}

/** A re-org does not change a settling order; settlement records the re-org by itself and withholds the payout. */
export function recordFundingReorged(order: PlacedOrder, data: CommandData<'RecordFundingReorged'>): OrderDecision {
  const { outpoint } = data
  if (!isRelevantReport(order, data)) return accept()
  if (isSettling(order)) return accept(...recordLateEvent(order, 'funding-reorged', outpoint))
  return accept(...returnToMempool(order, outpoint))
}

const returnToMempool = (order: PlacedOrder, outpoint: string): readonly OrderFact[] =>
  order.status === 'ON_CHAIN_CONFIRMATION' || order.status === 'SELLER_OPENED_CHANNEL'
    ? [orderFact('FundingReorgedRecorded', { outpoint })]
    : []

export function recordFundingLost(order: PlacedOrder, data: CommandData<'RecordFundingLost'>): OrderDecision {
  const { outpoint, failure, reason } = data
  if (!isRelevantReport(order, data)) return accept()
  if (isSettling(order)) return accept(...recordLateEvent(order, 'funding-lost', failure))
  if (order.closing) return accept()
  // The pending outpoint may replace the lost outpoint. The order closes only if the pending outpoint is refused.
  if (order.pendingOutpoint) return accept(...recordLoss(order, outpoint), ...returnToMempool(order, outpoint))
  return accept(...returnToMempool(order, outpoint), requestRelease(order, 'SELLER_FAILED_TO_SEND_SWAP', reason, true))
}

const recordLoss = (order: PlacedOrder, outpoint: string): readonly OrderFact[] =>
  order.acknowledged.includes(WATCH_STOPPED) ? [] : [orderFact('FundingLostRecorded', { outpoint })]

export function recordChannelInvalid(order: PlacedOrder, data: CommandData<'RecordChannelInvalid'>): OrderDecision {
  const { reason, blamed } = data
  if (!isRelevantReport(order, data)) return accept()
  if (isSettling(order)) return accept(...recordLateEvent(order, 'channel-wrong', reason))
  if (order.closing) return accept()
  // The pending outpoint may replace the invalid outpoint, as after a lost funding.
  if (order.pendingOutpoint) return accept(...recordDefect(order, data))
  return accept(requestRelease(order, 'INVALID_CHANNEL_OPENING', reason, blamed))
}

const recordDefect = (
  { outpoint: accepted }: PlacedOrder,
  { outpoint, reason, blamed }: CommandData<'RecordChannelInvalid'>,
): readonly OrderFact[] => (accepted?.defect ? [] : [orderFact('ChannelFoundInvalid', { outpoint, reason, blamed })])

export function recordLeaseEnded(
  order: PlacedOrder,
  { outpoint, early, closedBy }: CommandData<'RecordLeaseEnded'>,
): OrderDecision {
  const { outpoint: accepted, status } = order
  if (status !== 'VALID_CHANNEL_OPENING' || accepted?.outpoint !== outpoint) return accept()
  return accept(orderFact('MonitoringFinished', { attempt: accepted.attempt, early, closedBy }))
}
