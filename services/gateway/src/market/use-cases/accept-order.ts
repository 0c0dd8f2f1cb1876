import { command } from '@penstock/kernel/process.ts'
import { decodePaymentRequest, type PaymentRequest, explainEarlyExpiry } from '@penstock/bitcoin/bolt11.ts'
import { isFailure } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import type { SettlementTarget } from '@penstock/contracts/settlement.ts'
import { accountHolder } from '../../access.ts'
import { requireInTime, sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { parseId, parseTextField } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { findStoredOrder, type StoredOrder } from '../read/orders.ts'
import type { PayoutDue } from '../views/payout-due.ts'
import { mutation } from '../../use-case.ts'
import { requireRole } from './participant.ts'
import { waitForVerdict } from './submission-verdict.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { MarketSellerMutationsAcceptArgs } from '../../generated/schema-types.ts'

/** Accepts an order, or submits another payout invoice. It waits until settlement has accepted or refused the invoice. */
export const acceptOrder = mutation({
  path: 'market.order.seller.accept',
  access: accountHolder,
  input: ({ input }: MarketSellerMutationsAcceptArgs) => ({ orderId: parseId(input.order_id), text: input.request }),
  run: async ({ orderId, text }, { gateway, caller: { accountId } }) => {
    await requireRole(gateway, accountId, orderId)
    // The order is checked first, so that an unknown order is refused before an invalid invoice.
    const invoice = parseInvoice(text)
    const until = getAnswerDeadline(gateway)
    const payoutDue = findLossPayout(accountId, await findStoredOrder(gateway.views, orderId))
    if (payoutDue) {
      await submitLossInvoice(gateway, orderId, payoutDue, invoice, until)
      return { id: orderId, success: true }
    }
    const { request, paymentHash } = invoice
    await sendCommand(gateway, command<OrderTarget>('order', orderId, { type: 'Accept', data: { by: accountId, request } }), {
      until,
      isValidLate: true,
    })
    const verdict = await waitForVerdict(gateway, orderId, ({ payoutInvoices }) => payoutInvoices[paymentHash], until)
    // Without a verdict in time, the invoice is still recorded, and the seller's list of sales shows its state.
    if (verdict?.state === 'refused') throw invalidInput(verdict.reason ?? 'The invoice was refused')
    return { id: orderId, success: true }
  },
})

type Invoice = PaymentRequest & { readonly request: string }

function parseInvoice(text: string): Invoice {
  const request = parseTextField(text, 'request', 1, 4096)
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw invalidInput('request must be a BOLT11 invoice')
  return { ...invoice, request }
}

/** Maximum number of invoices per order, as for invoices that the order itself accepts. */
const MAX_INVOICES = 50

/** @returns the operator loss that is due to this account for a channel of a failed order; undefined if there is none */
function findLossPayout(accountId: string, found: StoredOrder | undefined): PayoutDue | undefined {
  if (!found?.hold || !isFailure(found.order.status) || found.hold.loss?.status !== 'BORNE') return undefined
  const { owed: payoutDue } = found.hold
  const isSeller = found.order.attempts.some(
    ({ candidate }) => candidate.sellerAccountId === accountId && candidate.sellerPubkey === payoutDue.sellerPubkey,
  )
  return isSeller ? payoutDue : undefined
}

/**
 * Sends the seller's invoice to settlement, because a failed order accepts no invoices.
 * @throws the reason of a refusal, or an error if no answer arrived in time
 */
async function submitLossInvoice(
  gateway: Gateway,
  orderId: string,
  payoutDue: PayoutDue,
  invoice: Invoice,
  until: number,
): Promise<void> {
  const { request, paymentHash, payee, expiresAt } = invoice
  const fault = findInvoiceFault(payoutDue, invoice, gateway.clock.now())
  if (fault !== undefined) throw invalidInput(fault)
  const data = { request, paymentHash, payee, amountMsat: payoutDue.amountMsat, expiresAt }
  await sendCommand(gateway, command<SettlementTarget>('settlement', orderId, { type: 'SubmitPayoutInvoice', data }), {
    until,
    isValidLate: true,
  })
  const readVerdict = async () => {
    const hold = (await findStoredOrder(gateway.views, orderId))?.hold
    if (hold?.payout?.refusal?.paymentHash === paymentHash) return { reason: hold.payout.refusal.reason }
    return hold?.owed.usable[payee] === paymentHash ? { reason: null } : undefined
  }
  const { reason } = requireInTime(await gateway.waiters.wait(readVerdict, [orderId], until))
  if (reason !== null) throw invalidInput(reason)
}

/** @returns the message for the first fault of a payout invoice; undefined if it has none */
function findInvoiceFault(
  { amountMsat, sellerPubkey, invoices }: PayoutDue,
  invoice: PaymentRequest,
  at: number,
): string | undefined {
  if (amountMsat === '0') return 'The payout is paid'
  if (invoice.payee !== sellerPubkey) return `The invoice must be of the node that sells, ${sellerPubkey}`
  if (`${invoice.amountMsat}` !== amountMsat) return `The invoice must be for exactly ${amountMsat} msat`
  const isNew = invoices[invoice.paymentHash] === undefined
  if (isNew && Object.keys(invoices).length >= MAX_INVOICES) return 'Too many invoices were given for this order'
  return explainEarlyExpiry(invoice, at)
}
