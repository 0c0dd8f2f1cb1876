import type { OrderFact } from '@penstock/contracts/order.ts'
import { accept } from '@penstock/kernel/decider.ts'
import type { DataOf } from './command.ts'
import { fact, late, type OrderDecision, release } from './fact.ts'
import { isFailed, isSettling, isValid, type Placed, toldKey, WATCH_STOPPED } from './state.ts'

/** Whose watch tells something: of which outpoint, and of which of its namings. */
type OfWatch = { readonly outpoint: string; readonly naming: number }

/**
 * What is told of an outpoint that is not the named one is of yesterday. So is what the watch of an earlier naming tells:
 * a seller that goes back to an outpoint begins its watch anew.
 */
const isNamed = ({ named }: Placed, { outpoint, naming }: OfWatch): boolean =>
  named?.outpoint === outpoint && (naming === 0 || naming === named.number)

const isOfSale = (order: Placed, watch: OfWatch): boolean => isNamed(order, watch) && !isFailed(order)

export function seen(order: Placed, data: DataOf<'RecordFundingSeen'>): OrderDecision {
  const { outpoint } = data
  if (!isOfSale(order, data) || order.status !== 'SELLER_SENT_TRANSACTION') return accept()
  return accept(fact('FundingSeen', { outpoint }))
}

export function confirmed(order: Placed, data: DataOf<'RecordFundingConfirmed'>): OrderDecision {
  if (!isOfSale(order, data) || order.status === 'CHANNEL_MONITORING_FINISHED') return accept()
  const before = order.named?.confirmed
  const { outpoint, height, channelId } = data
  if (before?.height === height && before.channelId === channelId) return accept()
  const news = fact('FundingConfirmed', { outpoint, height, channelId })
  return order.status === 'SELLER_SENT_TRANSACTION' ? accept(fact('FundingSeen', { outpoint }), news) : accept(news)
}

export function confirmationsReached(order: Placed, data: DataOf<'RecordConfirmationsReached'>): OrderDecision {
  const { outpoint, confirmations } = data
  if (!isOfSale(order, data) || isValid(order) || order.status === 'SELLER_OPENED_CHANNEL') return accept()
  return accept(fact('ChannelOpened', { outpoint, confirmations }))
}

/** Once the money is being taken a re-org changes nothing here; settlement notes it, and withholds the payout. */
export function reorged(order: Placed, data: DataOf<'RecordFundingReorged'>): OrderDecision {
  const { outpoint } = data
  if (!isOfSale(order, data)) return accept()
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

/** Where a watch did not count, what it tells before that of this naming is told to have begun is of the one before. */
const isOfThisWatch = (order: Placed, watch: OfWatch): boolean =>
  isNamed(order, watch) && (watch.naming !== 0 || order.told.includes(toldKey({ what: 'watch-started', key: watch.outpoint })))

export function lost(order: Placed, data: DataOf<'RecordFundingLost'>): OrderDecision {
  const { outpoint, failure, reason } = data
  if (!isOfThisWatch(order, data)) return accept()
  if (isFailed(order)) return accept(...watchIsOver(order))
  if (isSettling(order)) return accept(...late(order, 'funding-lost', failure), ...watchIsOver(order))
  if (order.closing) return accept(...watchIsOver(order))
  // The outpoint that is being recorded takes its place; where it is refused, the order closes then.
  if (order.offered) return accept(...watchIsOver(order), ...backInMempool(order, outpoint))
  return accept(
    ...watchIsOver(order),
    ...backInMempool(order, outpoint),
    release(order, 'SELLER_FAILED_TO_SEND_SWAP', reason, true),
  )
}

export function wrong(order: Placed, data: DataOf<'RecordChannelWrong'>): OrderDecision {
  const { reason, blamed } = data
  if (!isOfThisWatch(order, data)) return accept()
  if (isFailed(order)) return accept(...watchIsOver(order))
  if (isSettling(order)) return accept(...late(order, 'channel-wrong', reason), ...watchIsOver(order))
  if (order.closing) return accept(...watchIsOver(order))
  // As with one that is lost: the outpoint that is being recorded takes its place.
  if (order.offered) return accept(...watchIsOver(order), ...foundWrong(order, data))
  return accept(...watchIsOver(order), release(order, 'INVALID_CHANNEL_OPENING', reason, blamed))
}

const foundWrong = ({ named }: Placed, { outpoint, reason, blamed }: DataOf<'RecordChannelWrong'>): readonly OrderFact[] =>
  named?.wrong ? [] : [fact('ChannelFoundWrong', { outpoint, reason, blamed })]

export function leaseEnded(order: Placed, { outpoint, early, closedBy }: DataOf<'RecordLeaseEnded'>): OrderDecision {
  const { named, status } = order
  if (status !== 'VALID_CHANNEL_OPENING' || named?.outpoint !== outpoint) return accept()
  return accept(fact('MonitoringFinished', { attempt: named.attempt, early, closedBy }))
}
