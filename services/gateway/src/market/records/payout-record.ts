import type { Candidate } from '@penstock/contracts/shapes.ts'
import { isFailure } from '@penstock/contracts/order/lifecycle.ts'
import { msatToSatFloor } from '@penstock/kernel/money.ts'
import type { OperatorLoss, OrderPaymentStatus, OrderPayout } from '../../generated/schema-types.ts'
import type { OrderInRole } from '../read/sales.ts'
import type { AttemptView } from '../views/order-view.ts'

/** The names of the states of a payout invoice in GraphQL. */
const INVOICE_STATUSES = { submitted: 'OFFERED', accepted: 'TAKEN', refused: 'REFUSED' } as const

/** Returns the payout of a seller for an order: its submitted invoice, and the state of its payment. */
export function toPayoutRecord(
  { order, hold, role }: OrderInRole,
  candidate: Candidate,
  attempt: AttemptView | undefined,
): OrderPayout {
  const number = attempt?.attempt ?? 1
  const attemptInvoices = Object.values(order.payoutInvoices).filter((invoice) => invoice.attempt === number)
  const shownInvoice = attemptInvoices.find(({ state }) => state === 'accepted') ?? attemptInvoices.at(-1)
  const payout = role.kind === 'seller' && role.isCurrent ? hold?.payout : undefined
  return {
    id: `${order.id}/${number}`,
    sats: `${msatToSatFloor(BigInt(candidate.sellerAmountMsat))}`,
    invoice_status: hasLossInvoice(hold, candidate) ? 'TAKEN' : shownInvoice ? INVOICE_STATUSES[shownInvoice.state] : 'NONE',
    status: payout?.state ?? null,
    reason: payout?.reason ?? shownInvoice?.reason ?? null,
    operator_loss: role.kind === 'seller' && role.isCurrent ? readLossStatus({ order, hold }) : null,
  }
}

/** Whether the seller has submitted an invoice for an operator loss. Only settlement records it; the order has ended. */
const hasLossInvoice = (hold: OrderInRole['hold'], { sellerPubkey }: Candidate): boolean =>
  hold?.loss?.status === 'BORNE' && hold.owed.usable[sellerPubkey] !== undefined

/** A failed order may still get an operator loss until the read model contains the end of its hold. */
function readLossStatus({ order, hold }: Pick<OrderInRole, 'order' | 'hold'>): OperatorLoss | null {
  if (!hold) return null
  if (hold.loss) return hold.loss.status
  return isFailure(order.status) && hold.status === 'held' ? 'ASKED' : null
}

const sellerVisibleFailures: readonly OrderPaymentStatus[] = [
  'PAYMENT_REJECTED_BY_DESTINATION',
  'INVALID_PAYMENT_SECRET',
  'SELLER_INVOICE_EXPIRED',
]

/** Returns the failure of the payout for the current seller, else the status of the buyer's payment. */
export function readSellerPaymentStatus({ order, hold, role }: OrderInRole): OrderPaymentStatus | null {
  const failure = role.kind === 'seller' && role.isCurrent ? hold?.payout?.failure : null
  return sellerVisibleFailures.find((status) => status === failure) ?? order.paymentStatus
}
