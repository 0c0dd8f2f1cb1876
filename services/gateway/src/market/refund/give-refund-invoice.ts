import { decodePaymentRequest, explainUnpayable, type PaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { proveRefund } from '@penstock/config/refund-proof.ts'
import type { SettlementTarget } from '@penstock/contracts/settlement.ts'
import { command } from '@penstock/kernel/process.ts'
import { sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import type { Gateway } from '../../ports.ts'
import { findStoredOrder, type StoredOrder } from '../read/orders.ts'
import { getDueToBuyerMsat, type PayoutDue } from '../views/payout-due.ts'

/** The texts that a buyer enters: its invoice, and the preimage by which it proves its payment. */
export type RefundTexts = { readonly request: string; readonly preimage: string }

/**
 * Gives settlement the buyer's invoice for the amount that is owed to it. Only the proof goes to settlement, not the preimage.
 * @throws the refusal
 */
export async function giveRefundInvoice(gateway: Gateway, { order, hold }: StoredOrder, texts: RefundTexts): Promise<void> {
  const dueMsat = hold && getDueToBuyerMsat(hold.owed)
  if (!hold || dueMsat === undefined) throw invalidInput('This order owes you no amount, so it needs no invoice.')
  const request = texts.request.trim().replace(/^lightning:/i, '')
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw invalidInput('This is no Lightning invoice; copy a whole BOLT 11 invoice of your wallet.')
  // A wrong invoice that reached settlement would become a fact, and a buyer can make any number of wrong ones.
  const fault = explainRefundFault(invoice, dueMsat, hold.owed.invoices, gateway.clock.now())
  if (fault !== undefined) throw invalidInput(fault)
  const preimage = texts.preimage.trim().toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(preimage))
    throw invalidInput('Give the preimage of your payment: 64 digits and letters, which your wallet may call proof of payment.')
  if (paymentHashOf(preimage) !== order.invoice?.paymentHash)
    throw invalidInput("This preimage is of another payment; copy the preimage of this order's payment.")
  const { paymentHash, payee, expiresAt } = invoice
  const proof = proveRefund(preimage, { orderId: order.id, request })
  const data = { request, paymentHash, payee, amountMsat: `${dueMsat}`, expiresAt, proof }
  await sendCommand(gateway, command<SettlementTarget>('settlement', order.id, { type: 'SubmitRefundInvoice', data }))
  const refusal = (await findStoredOrder(gateway.views, order.id))?.hold?.payout?.refusal
  if (refusal?.paymentHash === paymentHash) throw invalidInput(refusal.reason)
}

function explainRefundFault(
  invoice: PaymentRequest,
  dueMsat: bigint,
  known: PayoutDue['invoices'],
  at: number,
): string | undefined {
  if (invoice.amountMsat !== dueMsat) return `The invoice must be for exactly ${dueMsat} msat.`
  if (invoice.expiresAt <= at) return 'The invoice has expired; make a new one.'
  if (known[invoice.paymentHash]) return 'This invoice was given before; make a new one.'
  return explainUnpayable(invoice)
}

/** An invoice may be refused after it was accepted here, for example because another order claimed its payment hash. */
export function findRefundRefusal({ hold }: Pick<StoredOrder, 'hold'>): string | undefined {
  const refusal = hold?.payout?.refusal
  if (!hold || !refusal || getDueToBuyerMsat(hold.owed) === undefined) return undefined
  return hold.owed.invoices[refusal.paymentHash]?.creditor === 'buyer' ? refusal.reason : undefined
}
