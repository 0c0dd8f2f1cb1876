import { type OrderStatus, isOpenStatus, isSale } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderView } from './order-view.ts'
import { getCurrentAttempt } from './order-view.ts'

/** An order's row in one seller's list. */
export type SaleRow = {
  readonly accountId: string
  readonly sellerPubkey: string
  /** 0 for the candidate of an order without an attempt. */
  readonly attempt: number
  readonly isCurrent: boolean
  readonly actionNeeded: boolean
}

/** Returns one row per selling account, for its current or newest attempt, or for the candidate before the first attempt. */
export function toSaleRows(view: OrderView): readonly SaleRow[] {
  if (view.attempts.length === 0) {
    const { sellerAccountId: accountId, sellerPubkey } = view.terms.candidate
    const needsApproval =
      view.status === 'WAITING_FOR_SELLER_APPROVAL' && !view.accepted && !view.terms.autoAccepted && !view.closing
    return [{ accountId, sellerPubkey, attempt: 0, isCurrent: true, actionNeeded: needsApproval || isInvoiceOwed(view, 1) }]
  }
  const currentNumber = getCurrentAttempt(view)
  const newest = new Map(view.attempts.map((attempt) => [attempt.candidate.sellerAccountId, attempt]))
  const acceptedAttempt = view.attempts.find(({ attempt }) => attempt === currentNumber)
  if (acceptedAttempt) newest.set(acceptedAttempt.candidate.sellerAccountId, acceptedAttempt)
  return [...newest].map(([accountId, { attempt, candidate, status }]) => {
    const isActive = attempt === currentNumber && (status === 'opening' || status === 'named' || status === 'opened')
    const isOpening = status === 'opening' && !view.closing && view.status === 'WAITING_FOR_CHANNEL_OPEN'
    return {
      accountId,
      sellerPubkey: candidate.sellerPubkey,
      attempt,
      isCurrent: attempt === currentNumber,
      actionNeeded: isOpening || (isActive && isInvoiceOwed(view, attempt)),
    }
  })
}

/** Whether the seller must submit an invoice, because it has submitted none or all were refused. */
function isInvoiceOwed(view: OrderView, attempt: number): boolean {
  const invoices = Object.values(view.payoutInvoices).filter((invoice) => invoice.attempt === attempt)
  if (invoices.some(({ state }) => state !== 'refused')) return false
  const isSold = isSale(view.status)
  return invoices.length > 0
    ? isOpenStatus(view.status) || isSold
    : view.attempts.length > 0 && (isOpenStatus(view.status) || isSold) && !view.closing
}

/** Returns the status of an order for one seller. A replaced seller always sees that it failed to open the channel. */
export function getSellerStatus(view: OrderView, sale: Pick<SaleRow, 'attempt' | 'isCurrent'>): OrderStatus {
  const attempt = view.attempts.find((one) => one.attempt === sale.attempt)
  const lost = attempt && (attempt.status === 'replaced' || (!sale.isCurrent && attempt.status === 'failed'))
  return lost ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : view.status
}
