import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { CommandData } from '../types.ts'
import { giveUpAttempt } from './opening.ts'
import { endOrder, orderFact, recordLateEvent, type OrderDecision, requestRelease } from '../outcomes.ts'
import { refuseClosing, refuseEnded, refuseNotFound, refuseNotNow } from '../refusal.ts'
import { hasEnded, isSeller, type PlacedOrder } from '../state.ts'
import { computeInvoiceDeadline, computeOpenBeforeHeight } from '../terms.ts'

export function place(terms: CommandData<'PlaceOrder'>, at: number): OrderDecision {
  const approveBefore = terms.autoAccepted ? null : at + terms.policy.approvalWindowMs
  const placed = orderFact('OrderPlaced', { ...terms, approveBefore })
  return terms.autoAccepted
    ? accept(placed, orderFact('SellerAccepted', { by: terms.candidate.sellerAccountId, autoAccepted: true }))
    : accept(placed)
}

export function reject(order: PlacedOrder, { by, record }: CommandData<'Reject'>): OrderDecision {
  if (!isSeller(order, by)) return refuseNotFound()
  if (order.status === 'SELLER_REJECTED') return accept()
  if (hasEnded(order)) return refuseEnded(order.endReason ?? order.status)
  if (order.closing) return refuseClosing(order.closing.reason)
  if (order.hold !== 'none') return refuseNotNow('The order was accepted; cancel it to give up your turn')
  return accept(orderFact('SellerRejected', { reason: 'The seller rejected the order', record }))
}

export const lapseApproval = (order: PlacedOrder, deadline: number): OrderDecision =>
  order.status === 'WAITING_FOR_SELLER_APPROVAL' && order.hold === 'none' && order.approveBefore === deadline
    ? accept(orderFact('SellerFailedToReact', { reason: 'The seller did not answer in time' }))
    : accept()

/** Ends an order whose invoice was not issued in time. Its caller no longer waits, so nobody pays an invoice that is issued later. */
export const lapseInvoice = (order: PlacedOrder, deadline: number): OrderDecision =>
  order.hold === 'asked' && !hasEnded(order) && computeInvoiceDeadline(order.terms) === deadline
    ? accept(requestRelease(order, 'BUYER_REJECTED', 'The invoice was not issued in time; nothing has to be paid.'))
    : accept()

/** A buyer cancels its order before the payment is held; a seller gives up its attempt. */
export function cancelByCaller(order: PlacedOrder, { by, reason }: CommandData<'Cancel'>): OrderDecision {
  const isTurn = order.status === 'WAITING_FOR_CHANNEL_OPEN' && isSeller(order, by)
  if (order.terms.buyer.accountId === by && !isTurn) return withdraw(order, reason)
  return isSeller(order, by) ? giveUpAttempt(order, by, reason) : refuseNotFound()
}

export function withdraw(order: PlacedOrder, reason: string): OrderDecision {
  if (order.status === 'BUYER_REJECTED' || order.closing?.to === 'BUYER_REJECTED') return accept()
  if (hasEnded(order)) return refuseEnded(order.endReason ?? order.status)
  if (order.closing) return refuseClosing(order.closing.reason)
  if (order.hold === 'held' || order.hold === 'settling')
    return refuse('HELD', 'The payment is held; it is returned automatically if no channel is opened')
  return accept(requestRelease(order, 'BUYER_REJECTED', reason))
}

export function recordHoldIssued(order: PlacedOrder, data: CommandData<'RecordHoldIssued'>): OrderDecision {
  if (hasEnded(order)) return accept(...recordLateEvent(order, 'hold-issued', data.paymentHash))
  return order.hold === 'asked' ? accept(orderFact('HoldIssuedRecorded', data)) : accept()
}

export function recordHoldRefused(order: PlacedOrder, reason: string): OrderDecision {
  if (order.hold !== 'asked' || hasEnded(order)) return accept()
  return accept(endOrder(order, { to: 'BUYER_REJECTED', reason, blamed: false, by: null }))
}

/** Closes the order, which ends when the node has cancelled the invoice. A payment that still arrives is late. */
export const recordHoldExpiring = (order: PlacedOrder, reason: string): OrderDecision =>
  order.hold === 'issued' && !order.closing && !hasEnded(order)
    ? accept(requestRelease(order, 'BUYER_FAILED_TO_PAY', reason))
    : accept()

/** Records the held payment. A closing order records it too, because the payment has arrived and has to be cancelled. */
export function recordHoldHeld(order: PlacedOrder, data: CommandData<'RecordHoldHeld'>): OrderDecision {
  if (hasEnded(order) || order.closing?.to === 'BUYER_FAILED_TO_PAY') return accept(...recordLateEvent(order, 'payment-held'))
  if (order.hold !== 'issued') return accept()
  return accept(orderFact('PaymentHeld', { ...data, openBeforeHeight: computeOpenBeforeHeight(order.terms, data.expiryHeight) }))
}
