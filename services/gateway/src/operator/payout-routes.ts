import { decodePaymentRequest, type PaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { settlement } from '@penstock/contracts/settlement.ts'
import { type Ask, ask } from '@penstock/runtime/service.ts'
import { Router } from 'express'
import { z } from 'zod'
import type { Page } from '../input.ts'
import type { StoredOrder } from '../read/orders.ts'
import { answer, bodyOf, foundOrder, OperatorError, orderIdOf } from './answers.ts'

export type PayoutPorts = {
  readonly order: (orderId: string) => Promise<StoredOrder | undefined>
  readonly openPayouts: (page: Page) => Promise<object>
  /** Sends a command and answers when the read models show what became of it. */
  readonly command: (ask: Ask) => Promise<void>
}

const by = z.string().min(1).max(100).default('operator')
const reason = z.string().min(1).max(500)
const retry = z.strictObject({ by, reason })
const decide = z.strictObject({ to: z.enum(['seller', 'buyer', 'nobody']), by, reason })
// As an address has them.
const digits = (most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'a whole number')
    .transform(Number)
    .pipe(z.int().max(most))
const page = z.strictObject({
  limit: digits(500).pipe(z.int().positive()).default(50),
  offset: digits(999_999_999).default(0),
})
const given = z.strictObject({ request: z.string().min(1).max(5000) })

/** Which payouts are open, and what an operator can do about one. Each use is a fact with its author and reason. */
export function payoutRoutes({ order, openPayouts, command }: PayoutPorts): Router {
  const router = Router()
  router.get(
    '/',
    answer(({ query }) => openPayouts(bodyOf(page, query))),
  )
  router.post(
    '/:id/retry',
    answer(async ({ params, body }) => {
      const { id } = await payoutOf(order, orderIdOf(params))
      await command(ask(settlement, id, 'RetryPayoutNow', bodyOf(retry, body)))
      return { order: id, retried: true }
    }),
  )
  router.post(
    '/:id/decide',
    answer(async ({ params, body }) => {
      const { id } = await payoutOf(order, orderIdOf(params))
      const decision = bodyOf(decide, body)
      await command(ask(settlement, id, 'DecidePayout', decision))
      return { order: id, decided: decision.to }
    }),
  )
  router.post(
    '/:id/replace',
    answer(async ({ params, body }) => {
      const { id, hold } = await payoutOf(order, orderIdOf(params))
      const invoice = invoiceOf(bodyOf(given, body).request)
      if (invoice.payee !== hold.owed.sellerPubkey)
        throw new OperatorError(422, `The invoice must be of the node that sold the channel, ${hold.owed.sellerPubkey}.`)
      return giveInvoice({ order, command }, id, 'GivePayoutInvoice', invoice)
    }),
  )
  router.post(
    '/:id/refund',
    answer(async ({ params, body }) => {
      const { id } = await payoutOf(order, orderIdOf(params))
      return giveInvoice({ order, command }, id, 'GiveRefundInvoice', invoiceOf(bodyOf(given, body).request))
    }),
  )
  return router
}

async function payoutOf(order: PayoutPorts['order'], id: string) {
  const { hold } = foundOrder(await order(id))
  if (!hold) throw new OperatorError(422, 'This order has no payment, and so no payout.')
  return { id, hold }
}

type Invoice = PaymentRequest & { readonly request: string }

function invoiceOf(request: string): Invoice {
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw new OperatorError(422, 'This is no BOLT 11 invoice.')
  return { ...invoice, request }
}

/** @throws Error with the reason where settlement refuses it */
export async function giveInvoice(
  { order, command }: Pick<PayoutPorts, 'order' | 'command'>,
  id: string,
  type: 'GivePayoutInvoice' | 'GiveRefundInvoice',
  { request, paymentHash, payee, amountMsat, expiresAt }: Invoice,
): Promise<{ readonly order: string; readonly payment_hash: string }> {
  await command(ask(settlement, id, type, { request, paymentHash, payee, amountMsat: `${amountMsat ?? 0n}`, expiresAt }))
  const refusal = (await order(id))?.hold?.payout?.refusal
  if (refusal?.paymentHash === paymentHash) throw new Error(refusal.reason)
  return { order: id, payment_hash: paymentHash }
}
