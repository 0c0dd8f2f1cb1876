import type { OrderFact } from '@penstock/contracts/order.ts'
import { isAfter, isFailure, type OrderStatus } from '@penstock/kernel/order-status.ts'

export type PaymentStatus = 'PENDING_PAYMENT' | 'SUCCESSFUL_PAYMENT' | 'HODL_INVOICE_TIMEOUT' | 'PAYMENT_FAILED'

/** Whether the buyer's money can still be taken or locked: what the limits per destination and address count. */
export const isOpen = (status: OrderStatus): boolean => isAfter('VALID_CHANNEL_OPENING', status)

const next: Partial<Record<OrderFact['type'], OrderStatus>> = {
  OrderPlaced: 'WAITING_FOR_SELLER_APPROVAL',
  HoldIssued: 'WAITING_FOR_BUYER_PAYMENT',
  AttemptStarted: 'WAITING_FOR_CHANNEL_OPEN',
  OutpointNamed: 'SELLER_SENT_TRANSACTION',
  FundingSeen: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  FundingConfirmed: 'ON_CHAIN_CONFIRMATION',
  FundingReorged: 'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  ChannelOpened: 'SELLER_OPENED_CHANNEL',
  OrderValid: 'VALID_CHANNEL_OPENING',
  MonitoringFinished: 'CHANNEL_MONITORING_FINISHED',
  SellerRejected: 'SELLER_REJECTED',
  SellerFailedToReact: 'SELLER_FAILED_TO_REACT',
  BuyerRejected: 'BUYER_REJECTED',
  BuyerFailedToPay: 'BUYER_FAILED_TO_PAY',
  SellerFailedToOpenChannel: 'SELLER_FAILED_TO_OPEN_CHANNEL',
  SellerFailedToSendSwap: 'SELLER_FAILED_TO_SEND_SWAP',
  InvalidChannelOpening: 'INVALID_CHANNEL_OPENING',
  AdminClosed: 'ADMIN_CLOSED',
}

/** @returns the status after a fact, which for most facts is the one before */
export function statusAfter(before: OrderStatus | undefined, type: OrderFact['type']): OrderStatus {
  const after = next[type] ?? before ?? 'WAITING_FOR_SELLER_APPROVAL'
  // A confirmation that is told again after the channel opened brings nothing back.
  const isLate = type === 'FundingConfirmed' && before !== undefined && isAfter(before, after)
  return isLate ? before : after
}

/** Whether the fact ends the order without a channel. */
export const isEnding = (type: OrderFact['type']): boolean => {
  const status = next[type]
  return status !== undefined && isFailure(status)
}

const endedByHeight = (fact: OrderFact): boolean =>
  (fact.type === 'SellerFailedToOpenChannel' ||
    fact.type === 'SellerFailedToSendSwap' ||
    fact.type === 'InvalidChannelOpening') &&
  fact.data.lastHeight

/** How the buyer's payment stands after a fact: null before there is an invoice. */
export function paymentStatusAfter(before: PaymentStatus | null, fact: OrderFact): PaymentStatus | null {
  if (fact.type === 'HoldIssued') return 'PENDING_PAYMENT'
  if (fact.type === 'PaymentHeld') return 'SUCCESSFUL_PAYMENT'
  if (endedByHeight(fact)) return 'HODL_INVOICE_TIMEOUT'
  // Also where a payment came when its invoice had expired: it was given back, and was none.
  if (fact.type === 'BuyerFailedToPay') return 'PAYMENT_FAILED'
  return isEnding(fact.type) && before === 'PENDING_PAYMENT' ? 'PAYMENT_FAILED' : before
}
