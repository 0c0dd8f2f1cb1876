import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { DataOf } from './command.ts'
import { giveUp } from './decide.opening.ts'
import { ending, fact, late, type OrderDecision, release } from './fact.ts'
import { closing, ended, notFound, notNow } from './refusal.ts'
import { isEnded, isSeller, type Placed } from './state.ts'
import { openBeforeHeight } from './terms.ts'

export function place(terms: DataOf<'PlaceOrder'>, at: number): OrderDecision {
  const approveBefore = terms.standing ? null : at + terms.policy.approvalWindowMs
  const placed = fact('OrderPlaced', { ...terms, approveBefore })
  return terms.standing
    ? accept(placed, fact('SellerAccepted', { by: terms.candidate.sellerAccountId, standing: true }))
    : accept(placed)
}

export function reject(order: Placed, { by, record }: DataOf<'Reject'>): OrderDecision {
  if (!isSeller(order, by)) return notFound()
  if (order.status === 'SELLER_REJECTED') return accept()
  if (isEnded(order)) return ended(order.ending ?? order.status)
  if (order.closing) return closing(order.closing.reason)
  if (order.hold !== 'none') return notNow('The order was accepted; cancel it to give up your turn')
  return accept(fact('SellerRejected', { reason: 'The seller rejected the order', record }))
}

export const lapseApproval = (order: Placed, deadline: number): OrderDecision =>
  order.status === 'WAITING_FOR_SELLER_APPROVAL' && order.hold === 'none' && order.approveBefore === deadline
    ? accept(fact('SellerFailedToReact', { reason: 'The seller did not answer in time' }))
    : accept()

/** Cancel acts by who calls: the buyer before the payment is held, a seller while it is its turn. */
export function cancel(order: Placed, { by, reason }: DataOf<'Cancel'>): OrderDecision {
  const isTurn = order.status === 'WAITING_FOR_CHANNEL_OPEN' && isSeller(order, by)
  if (order.terms.buyer.accountId === by && !isTurn) return withdraw(order, reason)
  return isSeller(order, by) ? giveUp(order, by, reason) : notFound()
}

export function withdraw(order: Placed, reason: string): OrderDecision {
  if (order.status === 'BUYER_REJECTED' || order.closing?.to === 'BUYER_REJECTED') return accept()
  if (isEnded(order)) return ended(order.ending ?? order.status)
  if (order.closing) return closing(order.closing.reason)
  if (order.hold === 'held' || order.hold === 'settling')
    return refuse('HELD', 'The payment is held; it comes back by itself if no channel is opened')
  return accept(release(order, 'BUYER_REJECTED', reason))
}

export function holdIssued(order: Placed, data: DataOf<'RecordHoldIssued'>): OrderDecision {
  if (isEnded(order)) return accept(...late(order, 'hold-issued', data.paymentHash))
  return order.hold === 'asked' ? accept(fact('HoldIssued', data)) : accept()
}

export function holdRefused(order: Placed, reason: string): OrderDecision {
  if (order.hold !== 'asked') return accept()
  const closed = fact('Told', { what: 'hold-closed', key: '1' })
  return isEnded(order)
    ? accept(closed)
    : accept(ending(order, { to: 'BUYER_REJECTED', reason, blamed: false, by: null }), closed)
}

/** Nothing ends here: what arrives between now and the node's word belongs to an invoice that was over. */
export const holdExpiring = (order: Placed, reason: string): OrderDecision =>
  order.hold === 'issued' && !order.closing && !isEnded(order) ? accept(release(order, 'BUYER_FAILED_TO_PAY', reason)) : accept()

/** The payment is held. An order that is closing takes it down too: the buyer's payment did arrive, and goes back. */
export function holdHeld(order: Placed, data: DataOf<'RecordHoldHeld'>): OrderDecision {
  if (isEnded(order) || order.closing?.to === 'BUYER_FAILED_TO_PAY') return accept(...late(order, 'payment-held'))
  if (order.hold !== 'issued') return accept()
  return accept(fact('PaymentHeld', { ...data, openBeforeHeight: openBeforeHeight(order.terms, data.expiryHeight) }))
}
