import type { PaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { settlement } from '@penstock/contracts/settlement.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { isFailure } from '@penstock/kernel/order-status.ts'
import { ask } from '@penstock/runtime/service.ts'
import { accepted, inTime } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import type { Gateway } from '../ports.ts'
import { orderById, type StoredOrder } from '../read/orders.ts'

/** @returns the account's offer for which the operator of a failed order owes it the price (decision A4) */
export function borneFor(accountId: string, found: StoredOrder | undefined): Candidate | undefined {
  if (!found?.hold || !isFailure(found.order.status) || found.hold.loss?.status !== 'BORNE') return undefined
  const { sellerPubkey } = found.hold.owed
  const sold = found.order.attempts.find(
    ({ candidate }) => candidate.sellerAccountId === accountId && candidate.sellerPubkey === sellerPubkey,
  )
  return sold?.candidate
}

/**
 * Gives the seller's invoice to settlement, since an order that has failed takes none any more.
 * @throws the reason where settlement refuses it, or that nobody answered in time
 */
export async function giveLossInvoice(
  gateway: Gateway,
  orderId: string,
  { sellerPubkey, sellerAmountMsat }: Candidate,
  { request, paymentHash, payee, amountMsat, expiresAt }: PaymentRequest & { readonly request: string },
  until: number,
): Promise<void> {
  if (payee !== sellerPubkey) throw invalid(`The invoice must be of the node that sells, ${sellerPubkey}`)
  if (amountMsat !== BigInt(sellerAmountMsat)) throw invalid(`The invoice must be for exactly ${sellerAmountMsat} msat`)
  const data = { request, paymentHash, payee, amountMsat: sellerAmountMsat, expiresAt }
  accepted(await gateway.commands.ask(ask(settlement, orderId, 'GivePayoutInvoice', data), { until }))
  const answer = async () => {
    const hold = (await orderById(gateway.views, orderId))?.hold
    if (hold?.payout?.refusal?.paymentHash === paymentHash) return { reason: hold.payout.refusal.reason }
    return hold?.owed.usable[sellerPubkey] === paymentHash ? { reason: null } : undefined
  }
  const { reason } = inTime(await gateway.waits.wait(answer, [orderId], until))
  if (reason !== null) throw invalid(reason)
}
