import type { Candidate } from '@penstock/contracts/shapes.ts'
import { isFailure } from '@penstock/kernel/order-status.ts'
import { msatToSatFloor } from '@penstock/kernel/money.ts'
import type { OrderInRole } from '../read/sales.ts'
import type { AttemptView } from '../views/order-view.ts'

/** How a seller is paid for an order: the invoice that it gave, and what became of the payment. */
export function payoutRecord({ order, hold, role }: OrderInRole, candidate: Candidate, attempt: AttemptView | undefined) {
  const number = attempt?.attempt ?? 1
  const given = Object.values(order.payoutInvoices).filter((invoice) => invoice.attempt === number)
  const best = given.find(({ state }) => state === 'taken') ?? given.at(-1)
  const payout = role.is === 'seller' && role.current ? hold?.payout : undefined
  return {
    id: `${order.id}/${number}`,
    sats: `${msatToSatFloor(BigInt(candidate.sellerAmountMsat))}`,
    invoice_status: hasGiven(hold, candidate) ? 'TAKEN' : best ? best.state.toUpperCase() : 'NONE',
    status: payout?.state ?? null,
    reason: payout?.reason ?? best?.reason ?? null,
    operator_loss: role.is === 'seller' && role.current ? lossOf({ order, hold }) : null,
  }
}

/** An invoice that was given for a loss is settlement's alone: the order has ended. */
const hasGiven = (hold: OrderInRole['hold'], { sellerPubkey }: Candidate): boolean =>
  hold?.loss?.status === 'BORNE' && hold.owed.usable[sellerPubkey] !== undefined

/** While the read model has not read the end of the hold, a loss may still follow. */
function lossOf({ order, hold }: Pick<OrderInRole, 'order' | 'hold'>): string | null {
  if (!hold) return null
  if (hold.loss) return hold.loss.status
  return isFailure(order.status) && hold.status === 'held' ? 'ASKED' : null
}

const shownFailures = ['PAYMENT_REJECTED_BY_DESTINATION', 'INVALID_PAYMENT_SECRET', 'SELLER_INVOICE_EXPIRED']

/** To its seller an order shows what is wrong with the payout; to anybody else only how the buyer's payment stands. */
export function sellerPaymentStatus({ order, hold, role }: OrderInRole): string | null {
  const failure = role.is === 'seller' && role.current ? hold?.payout?.failure : null
  return failure && shownFailures.includes(failure) ? failure : order.paymentStatus
}
