import type { CancellationReason, OrderFact } from '@penstock/contracts/order.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { CommandData } from '../types.ts'
import { orderFact, type OrderDecision, requestRelease } from '../outcomes.ts'
import { refuseClosing, refuseEnded, refuseNotNow } from '../refusal.ts'
import {
  type Attempt,
  findAttemptBy,
  hasEnded,
  findLiveAttempt,
  maxAttemptsOf,
  type PlacedOrder,
  findPendingSearch,
} from '../state.ts'

/** This reason applies to every seller, because the number of blocks before the payment's expiry only decreases. */
export const EXPIRES_TOO_SOON = 'The payment expires too soon for another opening'

export const recordMatched = (order: PlacedOrder, { attempt, candidate }: CommandData<'RecordMatched'>): OrderDecision =>
  findPendingSearch(order) === attempt ? accept(orderFact('AttemptStarted', { attempt, candidate })) : accept()

export function recordUnmatched(order: PlacedOrder, { attempt, reason }: CommandData<'RecordUnmatched'>): OrderDecision {
  if (findPendingSearch(order) !== attempt || order.failedSearch?.attempt === attempt) return accept()
  const failed = orderFact('SearchFailed', { attempt, reason })
  if (order.pendingOutpoint) return accept(failed)
  // At the first attempt no seller has the capacity. At a later attempt, the earlier sellers have failed to open.
  return accept(failed, requestRelease(order, attempt === 1 ? 'SELLER_REJECTED' : 'SELLER_FAILED_TO_OPEN_CHANNEL', reason))
}

/** Records whether our node reached the buyer's node. If it did not, or too few blocks are left, no seller is blamed. */
export function recordBuyerReach(
  order: PlacedOrder,
  { check, reached, reason, height }: CommandData<'RecordBuyerReach'>,
  at: number,
): OrderDecision {
  const live = findLiveAttempt(order)
  if (order.closing || !live || check !== order.reachChecks) return accept()
  const isReported = order.unreachableReport === live.number
  if (live.status !== 'accepted' && !isReported) return accept()
  if (reached && isReported) return accept(...failUnreachableReporter(order, live))
  if (reached && height <= order.openBeforeHeight)
    return accept(orderFact('ChannelOpenRequested', { attempt: live.number, openBefore: at + order.terms.policy.openWindowMs }))
  const failureReason = reached ? EXPIRES_TOO_SOON : reason
  // A late outpoint of an earlier seller is pending, and its channel may exist already.
  if (order.pendingOutpoint)
    return accept(orderFact('AttemptFailed', { attempt: live.number, reason: failureReason, blamed: false }))
  return accept(requestRelease(order, 'SELLER_FAILED_TO_OPEN_CHANNEL', failureReason))
}

/**
 * Fails an attempt whose seller cannot connect to the buyer's node although our node can. If the order has no address of the
 * buyer, the wallet may connect only to its sellers, and our result proves little. The seller is then not blamed.
 */
function failUnreachableReporter(order: PlacedOrder, attempt: Attempt): readonly OrderFact[] {
  const hasBuyerAddress = order.terms.destination.sockets.length > 0
  return failAttempt(order, attempt, "The seller could not connect to the buyer's node", hasBuyerAddress)
}

export function lapseOpening(order: PlacedOrder, { attempt, deadline }: CommandData<'LapseOpening'>): OrderDecision {
  const live = findLiveAttempt(order)
  const isDue = live?.number === attempt && live.status === 'opening' && live.openBefore === deadline
  if (!isDue || order.closing || order.pendingOutpoint || order.unreachableReport === attempt) return accept()
  return accept(...failAttempt(order, live, 'The seller submitted no funding transaction in time'))
}

/** Fails the seller's attempt on its own request, which is possible only while no outpoint is pending or accepted. */
export function giveUpAttempt(order: PlacedOrder, by: string, reason: string): OrderDecision {
  const attempt = findAttemptBy(order, by)
  if (attempt?.status === 'failed' || attempt?.status === 'replaced') return accept()
  if (hasEnded(order)) return refuseEnded(order.endReason ?? order.status)
  if (order.closing) return refuseClosing(order.closing.reason)
  if (!attempt) return refuseNotNow('The order is not paid yet; reject it instead')
  if (attempt.status === 'named' || attempt.status === 'opened')
    return refuseNotNow('A funding transaction is accepted; the order can no longer be cancelled')
  if (order.pendingOutpoint) return refuse('BUSY', 'A funding transaction is being recorded; try again in a moment')
  return reason === UNREACHABLE ? reportUnreachable(order, attempt) : accept(...failAttempt(order, attempt, reason))
}

const UNREACHABLE: CancellationReason = 'UNABLE_TO_CONNECT_TO_NODE'

/** The buyer's node may be offline, so our own node tries to connect to it before the seller's attempt fails. */
function reportUnreachable(order: PlacedOrder, { number, status }: Attempt): OrderDecision {
  if (order.unreachableReport === number) return accept()
  if (status === 'accepted') return refuse('BUSY', "The buyer's node is still being tried; try again in a moment")
  const reason = "The seller cannot connect to the buyer's node; ours tries it"
  return accept(orderFact('UnreachableReported', { attempt: number, reason }))
}

/** Fails the attempt, and releases the payment if it was the last attempt. The next reach check compares the height. */
function failAttempt(order: PlacedOrder, { number }: Attempt, reason: string, blamed = true): readonly OrderFact[] {
  const failed = orderFact('AttemptFailed', { attempt: number, reason, blamed })
  // A pending late outpoint of an earlier seller may still save the order.
  if (number < maxAttemptsOf(order) || order.pendingOutpoint) return [failed]
  return [failed, requestRelease(order, 'SELLER_FAILED_TO_OPEN_CHANNEL', reason, blamed)]
}

/** @returns the reason why no seller is left; undefined if a seller has or may get an attempt */
export function explainNoSellerLeft(order: PlacedOrder): string | undefined {
  if (findLiveAttempt(order)) return undefined
  if (order.attempts.length >= maxAttemptsOf(order)) return 'No seller opened the channel'
  return order.failedSearch?.attempt === order.attempts.length + 1 ? order.failedSearch.reason : undefined
}
