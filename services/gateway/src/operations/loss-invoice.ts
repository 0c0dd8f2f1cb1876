import { type PaymentRequest, tooShortLived } from '@penstock/bitcoin/bolt11.ts'
import { settlement } from '@penstock/contracts/settlement.ts'
import { isFailure } from '@penstock/kernel/order-status.ts'
import { ask } from '@penstock/runtime/service.ts'
import { accepted, inTime } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import type { Gateway } from '../ports.ts'
import { orderById, type StoredOrder } from '../read/orders.ts'
import type { Owed } from '../views/owed.ts'

/** As many as an order takes of its seller. */
const MOST_INVOICES = 50

/** @returns what is owed by the operator of a failed order, where this account sold the channel (decision A4) */
export function owedForLoss(accountId: string, found: StoredOrder | undefined): Owed | undefined {
  if (!found?.hold || !isFailure(found.order.status) || found.hold.loss?.status !== 'BORNE') return undefined
  const { owed } = found.hold
  const isSeller = found.order.attempts.some(
    ({ candidate }) => candidate.sellerAccountId === accountId && candidate.sellerPubkey === owed.sellerPubkey,
  )
  return isSeller ? owed : undefined
}

/**
 * Gives the seller's invoice to settlement, since an order that has failed takes none any more.
 * @throws the reason where it is refused, or that nobody answered in time
 */
export async function giveLossInvoice(
  gateway: Gateway,
  orderId: string,
  owed: Owed,
  invoice: PaymentRequest & { readonly request: string },
  until: number,
): Promise<void> {
  const { request, paymentHash, payee, expiresAt } = invoice
  const fault = faultOf(owed, invoice, gateway.clock.now())
  if (fault !== undefined) throw invalid(fault)
  const data = { request, paymentHash, payee, amountMsat: owed.amountMsat, expiresAt }
  accepted(await gateway.commands.ask(ask(settlement, orderId, 'GivePayoutInvoice', data), { until }))
  const answer = async () => {
    const hold = (await orderById(gateway.views, orderId))?.hold
    if (hold?.payout?.refusal?.paymentHash === paymentHash) return { reason: hold.payout.refusal.reason }
    return hold?.owed.usable[payee] === paymentHash ? { reason: null } : undefined
  }
  const { reason } = inTime(await gateway.waits.wait(answer, [orderId], until))
  if (reason !== null) throw invalid(reason)
}

/** What an order asks of a payout invoice. */
function faultOf({ amountMsat, sellerPubkey, invoices }: Owed, invoice: PaymentRequest, at: number): string | undefined {
  if (amountMsat === '0') return 'The payout is paid'
  if (invoice.payee !== sellerPubkey) return `The invoice must be of the node that sells, ${sellerPubkey}`
  if (`${invoice.amountMsat}` !== amountMsat) return `The invoice must be for exactly ${amountMsat} msat`
  const isNew = invoices[invoice.paymentHash] === undefined
  if (isNew && Object.keys(invoices).length >= MOST_INVOICES) return 'Too many invoices were given for this order'
  return tooShortLived(invoice, at)
}
