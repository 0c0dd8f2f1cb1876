import type { OrderFact } from '@penstock/contracts/order.ts'
import { accept } from '@penstock/kernel/decider.ts'
import type { DataOf } from './command.ts'
import { fact, late, type OrderDecision, release } from './fact.ts'
import { isFailed, isSettling, isValid, type Placed, toldKey, WATCH_STOPPED } from './state.ts'

/** What is told of an outpoint that is not the named one is of yesterday. */
const isNamed = (order: Placed, outpoint: string): boolean => order.named?.outpoint === outpoint && !isFailed(order)

export function seen(order: Placed, outpoint: string): OrderDecision {
  if (!isNamed(order, outpoint) || order.status !== 'SELLER_SENT_TRANSACTION') return accept()
  return accept(fact('FundingSeen', { outpoint }))
}

export function confirmed(order: Placed, data: DataOf<'RecordFundingConfirmed'>): OrderDecision {
  if (!isNamed(order, data.outpoint) || order.status === 'CHANNEL_MONITORING_FINISHED') return accept()
  const before = order.named?.confirmed
  if (before?.height === data.height && before.channelId === data.channelId) return accept()
  const news = fact('FundingConfirmed', data)
  return order.status === 'SELLER_SENT_TRANSACTION'
    ? accept(fact('FundingSeen', { outpoint: data.outpoint }), news)
    : accept(news)
}

export function confirmationsReached(order: Placed, data: DataOf<'RecordConfirmationsReached'>): OrderDecision {
  if (!isNamed(order, data.outpoint) || isValid(order) || order.status === 'SELLER_OPENED_CHANNEL') return accept()
  return accept(fact('ChannelOpened', data))
}

/** Once the money is being taken a re-org changes nothing here; settlement notes it, and withholds the payout. */
export function reorged(order: Placed, outpoint: string): OrderDecision {
  if (!isNamed(order, outpoint)) return accept()
  if (isSettling(order)) return accept(...late(order, 'funding-reorged', outpoint))
  return accept(...backInMempool(order, outpoint))
}

const backInMempool = (order: Placed, outpoint: string): readonly OrderFact[] =>
  order.status === 'ON_CHAIN_CONFIRMATION' || order.status === 'SELLER_OPENED_CHANNEL'
    ? [fact('FundingReorged', { outpoint })]
    : []

// What was lost or wrong is watched no more: there is nothing to stop.
const watchIsOver = (order: Placed): readonly OrderFact[] =>
  order.told.includes(WATCH_STOPPED) ? [] : [fact('Told', { what: 'watch-stopped', key: '1' })]

/**
 * A seller that goes back to an outpoint begins its watch anew. What the watch before has told of it is of yesterday, and
 * comes before the watch of this naming is told to have begun.
 */
const isOfThisWatch = (order: Placed, outpoint: string): boolean =>
  order.named?.outpoint === outpoint && order.told.includes(toldKey({ what: 'watch-started', key: outpoint }))

export function lost(order: Placed, { outpoint, failure, reason }: DataOf<'RecordFundingLost'>): OrderDecision {
  if (!isOfThisWatch(order, outpoint)) return accept()
  if (isFailed(order)) return accept(...watchIsOver(order))
  if (isSettling(order)) return accept(...late(order, 'funding-lost', failure), ...watchIsOver(order))
  if (order.closing) return accept(...watchIsOver(order))
  return accept(
    ...watchIsOver(order),
    ...backInMempool(order, outpoint),
    release(order, 'SELLER_FAILED_TO_SEND_SWAP', reason, true),
  )
}

export function wrong(order: Placed, { outpoint, reason }: DataOf<'RecordChannelWrong'>): OrderDecision {
  if (!isOfThisWatch(order, outpoint)) return accept()
  if (isFailed(order)) return accept(...watchIsOver(order))
  if (isSettling(order)) return accept(...late(order, 'channel-wrong', reason), ...watchIsOver(order))
  return order.closing
    ? accept(...watchIsOver(order))
    : accept(...watchIsOver(order), release(order, 'INVALID_CHANNEL_OPENING', reason, true))
}

export function leaseEnded(order: Placed, { outpoint, early, closedBy }: DataOf<'RecordLeaseEnded'>): OrderDecision {
  const { named, status } = order
  if (status !== 'VALID_CHANNEL_OPENING' || named?.outpoint !== outpoint) return accept()
  return accept(fact('MonitoringFinished', { attempt: named.attempt, early, closedBy }))
}
