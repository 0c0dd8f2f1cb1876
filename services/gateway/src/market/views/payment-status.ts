import type { OrderFact } from '@penstock/contracts/order.ts'
import { isFailureFact } from '@penstock/contracts/order/lifecycle.ts'

export type PaymentStatus = 'PENDING_PAYMENT' | 'SUCCESSFUL_PAYMENT' | 'HODL_INVOICE_TIMEOUT' | 'PAYMENT_FAILED'

const isEndedByHeight = (fact: OrderFact): boolean =>
  (fact.type === 'SellerFailedToOpenChannel' ||
    fact.type === 'SellerFailedToSendSwap' ||
    fact.type === 'InvalidChannelOpening') &&
  fact.data.lastHeight

/** Returns the status of the buyer's payment after a fact; null before there is an invoice. */
export function evolvePaymentStatus(before: PaymentStatus | null, fact: OrderFact): PaymentStatus | null {
  if (fact.type === 'HoldIssuedRecorded') return 'PENDING_PAYMENT'
  if (fact.type === 'PaymentHeld') return 'SUCCESSFUL_PAYMENT'
  if (isEndedByHeight(fact)) return 'HODL_INVOICE_TIMEOUT'
  // Also if a payment arrived after its invoice had expired, because that payment was cancelled.
  if (fact.type === 'BuyerFailedToPay') return 'PAYMENT_FAILED'
  return isFailureFact(fact.type) && before === 'PENDING_PAYMENT' ? 'PAYMENT_FAILED' : before
}
