import type { OrderFact, ReleaseTo } from '@penstock/contracts/order.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { Bug, assert } from '@penstock/kernel/result.ts'
import type { CommandData } from '../types.ts'
import { acceptOutpoint } from './outpoint.ts'
import { endOrder, orderFact, recordLateEvent, type OrderDecision, requestRelease } from '../outcomes.ts'
import { refuseClosing, refuseEnded } from '../refusal.ts'
import { hasEnded, isFailed, isSettling, isValid, outpointKeyOf, type PlacedOrder, currentSellerOf } from '../state.ts'

export function closeByOperator(order: PlacedOrder, { by, reason, bearsLoss }: CommandData<'CloseByOperator'>): OrderDecision {
  if (order.status === 'ADMIN_CLOSED' || order.closing?.to === 'ADMIN_CLOSED') return accept()
  if (hasEnded(order)) return refuseEnded(order.endReason ?? order.status)
  if (isSettling(order)) return refuse('SETTLING', 'The payment is being settled; the order can no longer be closed')
  if (order.closing) return refuseClosing(order.closing.reason)
  // The operator has to accept the loss, because no one else pays a seller that has already published its funding.
  if (order.outpoint && !bearsLoss)
    return refuse(
      'BEARS_LOSS',
      `A channel was submitted for this order. If it is proven, the operator pays the seller ${currentSellerOf(order).candidate.sellerAmountMsat} msat. To close the order anyway, confirm that you bear the loss.`,
    )
  return accept(requestRelease(order, 'ADMIN_CLOSED', reason, false, by))
}

/**
 * Settlement has its proofs and settles the hold, so the order becomes valid even if it was closing. At the last height
 * settlement may be ahead of the watcher's reports, so this decision adds the facts that are missing.
 */
export function recordSettling(
  order: PlacedOrder,
  { outpoint, confirmations, lastHeight }: CommandData<'RecordSettling'>,
): OrderDecision {
  if (isFailed(order)) return accept(...recordLateEvent(order, 'settling', outpoint))
  if (isSettling(order)) return accept()
  const isAccepted = order.outpoint?.outpoint === outpoint
  const openedFacts =
    isAccepted && order.status === 'SELLER_OPENED_CHANNEL' ? [] : [orderFact('ChannelOpened', { outpoint, confirmations })]
  return accept(
    ...(isAccepted ? [] : acceptProvenOutpoint(order, outpoint)),
    ...openedFacts,
    orderFact('SettlingStarted', { outpoint, lastHeight }),
  )
}

// Settlement registered the outpoint while the order began to close, so the order has not accepted it yet.
function acceptProvenOutpoint(order: PlacedOrder, outpoint: string): readonly OrderFact[] {
  const claimingAttempt = order.attempts.find(({ number }) =>
    order.claimedOutpoints.includes(outpointKeyOf({ attempt: number, outpoint })),
  )
  assert(claimingAttempt, 'settlement proved an outpoint that the order never submitted')
  return acceptOutpoint(order, claimingAttempt.number, outpoint, undefined)
}

export function recordHoldSettled(order: PlacedOrder, settledAt: number): OrderDecision {
  if (isValid(order)) return accept()
  if (order.hold === 'settling') return accept(orderFact('OrderValid', { settledAt }))
  if (isFailed(order)) return accept(...recordLateEvent(order, 'hold-settled'))
  throw new Bug('HoldSettled without SettlingStarted')
}

/** Ends the order, because the node has now cancelled the hold. */
export function recordHoldCancelled(
  order: PlacedOrder,
  { reason, verdict, sentence }: CommandData<'RecordHoldCancelled'>,
): OrderDecision {
  if (order.hold === 'none') return accept()
  if (isValid(order)) return accept(...recordLateEvent(order, 'hold-cancelled', sentence))
  if (isFailed(order)) return accept()
  const lastHeight = reason === 'last-height' || reason === 'node'
  if (order.closing) return accept(endOrder(order, order.closing, lastHeight))
  const to = chooseFailureStatus(order, reason, verdict)
  const isBreach = to === 'SELLER_FAILED_TO_SEND_SWAP' || (to === 'INVALID_CHANNEL_OPENING' && verdict !== 'spent')
  return accept(endOrder(order, { to, reason: sentence, blamed: isBreach, by: null }, lastHeight))
}

type HoldCancelledData = CommandData<'RecordHoldCancelled'>

/** Chooses the status for a hold that ended without the order's request, by the progress of its channel. */
function chooseFailureStatus(
  order: PlacedOrder,
  reason: HoldCancelledData['reason'],
  verdict: HoldCancelledData['verdict'],
): ReleaseTo {
  // A payment that arrived after its invoice expired does not count, even if a search for a seller began meanwhile.
  const isPaid = order.hold === 'held' && reason !== 'expired'
  switch (order.status) {
    case 'WAITING_FOR_SELLER_APPROVAL':
      return 'BUYER_REJECTED'
    case 'WAITING_FOR_BUYER_PAYMENT':
    case 'WAITING_FOR_CHANNEL_OPEN':
      return isPaid ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : 'BUYER_FAILED_TO_PAY'
    default:
      return chooseChannelFailureStatus(order, verdict)
  }
}

function chooseChannelFailureStatus({ status }: PlacedOrder, verdict: HoldCancelledData['verdict']): ReleaseTo {
  if (verdict === 'wrong' || verdict === 'spent') return 'INVALID_CHANNEL_OPENING'
  // A node that cancels by itself gives no verdict on the channel, so the reports of the watch decide.
  const isUnconfirmed = status === 'SELLER_SENT_TRANSACTION' || status === 'WAITING_FOR_ON_CHAIN_CONFIRMATION'
  return isUnconfirmed || verdict === 'unconfirmed' ? 'SELLER_FAILED_TO_SEND_SWAP' : 'SELLER_FAILED_TO_OPEN_CHANNEL'
}
