import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import { isOpen } from './order-status.ts'
import type { OrderView } from './order-view.ts'
import { currentAttempt } from './order-view.ts'

/** An order's row in one seller's list. */
export type Sale = {
  readonly accountId: string
  readonly sellerPubkey: string
  /** 0 for the candidate of an order that has no attempt yet. */
  readonly attempt: number
  readonly current: boolean
  readonly actionNeeded: boolean
}

/** Those who sell or tried to: each account with its newest attempt, or the candidate as long as nobody was asked. */
export function salesOf(view: OrderView): readonly Sale[] {
  if (view.attempts.length === 0) {
    const { sellerAccountId: accountId, sellerPubkey } = view.terms.candidate
    const asked = view.status === 'WAITING_FOR_SELLER_APPROVAL' && !view.accepted && !view.terms.standing && !view.closing
    return [{ accountId, sellerPubkey, attempt: 0, current: true, actionNeeded: asked || owesInvoice(view, 1) }]
  }
  const current = currentAttempt(view)
  const newest = new Map(view.attempts.map((attempt) => [attempt.candidate.sellerAccountId, attempt]))
  const named = view.attempts.find(({ attempt }) => attempt === current)
  if (named) newest.set(named.candidate.sellerAccountId, named)
  return [...newest].map(([accountId, { attempt, candidate, status }]) => {
    const mine = attempt === current && (status === 'opening' || status === 'named' || status === 'opened')
    const opens = status === 'opening' && !view.closing && view.status === 'WAITING_FOR_CHANNEL_OPEN'
    return {
      accountId,
      sellerPubkey: candidate.sellerPubkey,
      attempt,
      current: attempt === current,
      actionNeeded: opens || (mine && owesInvoice(view, attempt)),
    }
  })
}

/** Nobody can be paid without an invoice: one that was refused has to be replaced, and one that never came has to be given. */
function owesInvoice(view: OrderView, attempt: number): boolean {
  const given = Object.values(view.payoutInvoices).filter((invoice) => invoice.attempt === attempt)
  if (given.some(({ state }) => state !== 'refused')) return false
  const sold = view.status === 'VALID_CHANNEL_OPENING' || view.status === 'CHANNEL_MONITORING_FINISHED'
  return given.length > 0
    ? isOpen(view.status) || sold
    : view.attempts.length > 0 && (isOpen(view.status) || sold) && !view.closing
}

/** What a seller is told of an order: one that was replaced has failed to open, whatever came after. */
export function statusFor(view: OrderView, sale: Pick<Sale, 'attempt' | 'current'>): OrderStatus {
  const attempt = view.attempts.find((one) => one.attempt === sale.attempt)
  const lost = attempt && (attempt.status === 'replaced' || (!sale.current && attempt.status === 'failed'))
  return lost ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : view.status
}
