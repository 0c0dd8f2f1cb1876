import { command, type AddressedCommand, type CommandBody } from '@penstock/kernel/process.ts'
import { decodePaymentRequest, type PaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand, SettlementTarget } from '@penstock/contracts/settlement.ts'
import { Router } from 'express'
import { z } from 'zod'
import type { StoredOrder } from '../market/read/orders.ts'
import { respondWithJson, parseOperatorBody, requireOrder, OperatorError, parseOrderId } from './http.ts'
import type { Page } from '../list-page.ts'

export type PayoutPorts = {
  readonly findOrder: (orderId: string) => Promise<StoredOrder | undefined>
  readonly listOpenPayouts: (page: Page) => Promise<object>
  /** Sends a command, and resolves when the read models contain its result. */
  readonly sendCommand: (ask: AddressedCommand) => Promise<void>
}

const by = z.string().min(1).max(100).default('operator')
const reason = z.string().min(1).max(500)
const retryBody = z.strictObject({ by, reason })
/** The command line makes the proof, because this service must not be able to. */
const proof = z.string().regex(/^[0-9a-f]{64}$/, 'the proof that "penstock payout decide" makes')
const decideBody = z.strictObject({ to: z.enum(['seller', 'buyer', 'nobody']), by, reason, proof })
// A query parameter is a string of digits.
const digits = (most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'a whole number')
    .transform(Number)
    .pipe(z.int().max(most))
const pageQuery = z.strictObject({
  limit: digits(500).pipe(z.int().positive()).default(50),
  offset: digits(999_999_999).default(0),
})
const invoiceBody = z.strictObject({ request: z.string().min(1).max(5000) })
const refundBody = invoiceBody.extend({
  proof: z.string().regex(/^[0-9a-f]{64}$/, 'the proof that "penstock payout refund" makes'),
})

/** Creates the routes that list open payouts and act on a payout. A retry and a decision have an author and a reason. */
export function createPayoutRouter({ findOrder, listOpenPayouts, sendCommand }: PayoutPorts): Router {
  const router = Router()
  router.get(
    '/',
    respondWithJson(({ query }) => listOpenPayouts(parseOperatorBody(pageQuery, query))),
  )
  router.post(
    '/:id/retry',
    respondWithJson(async ({ params, body }) => {
      const { id } = await requirePayout(findOrder, parseOrderId(params))
      await sendCommand(
        command<SettlementTarget>('settlement', id, { type: 'RetryPayoutNow', data: parseOperatorBody(retryBody, body) }),
      )
      return { order: id, retried: true }
    }),
  )
  router.post(
    '/:id/decide',
    respondWithJson(async ({ params, body }) => {
      const { id } = await requirePayout(findOrder, parseOrderId(params))
      const decision = parseOperatorBody(decideBody, body)
      await sendCommand(command<SettlementTarget>('settlement', id, { type: 'DecidePayout', data: decision }))
      return { order: id, decided: decision.to }
    }),
  )
  router.post(
    '/:id/replace',
    respondWithJson(async ({ params, body }) => {
      const { id, hold } = await requirePayout(findOrder, parseOrderId(params))
      const invoice = decodeInvoice(parseOperatorBody(invoiceBody, body).request)
      if (invoice.payee !== hold.owed.sellerPubkey)
        throw new OperatorError(422, `The invoice must be of the node that sold the channel, ${hold.owed.sellerPubkey}.`)
      const data = toInvoiceData(invoice)
      return submitInvoice({ findOrder, sendCommand }, id, { type: 'SubmitPayoutInvoice', data })
    }),
  )
  router.post(
    '/:id/refund',
    respondWithJson(async ({ params, body }) => {
      const { id } = await requirePayout(findOrder, parseOrderId(params))
      const { request, proof: refundProof } = parseOperatorBody(refundBody, body)
      const data = { ...toInvoiceData(decodeInvoice(request)), proof: refundProof }
      return submitInvoice({ findOrder, sendCommand }, id, { type: 'SubmitRefundInvoice', data })
    }),
  )
  return router
}

async function requirePayout(findOrder: PayoutPorts['findOrder'], id: string) {
  const { hold } = requireOrder(await findOrder(id))
  if (!hold) throw new OperatorError(422, 'This order has no payment, and so no payout.')
  return { id, hold }
}

type DecodedInvoice = PaymentRequest & { readonly request: string }

function decodeInvoice(request: string): DecodedInvoice {
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw new OperatorError(422, 'This is no BOLT 11 invoice.')
  return { ...invoice, request }
}

const toInvoiceData = ({ request, paymentHash, payee, amountMsat, expiresAt }: DecodedInvoice) => ({
  request,
  paymentHash,
  payee,
  amountMsat: `${amountMsat ?? 0n}`,
  expiresAt,
})

type SubmitInvoice = Extract<CommandBody<SettlementCommand>, { readonly type: 'SubmitPayoutInvoice' | 'SubmitRefundInvoice' }>

/** @throws Error with the reason if settlement refuses the invoice */
async function submitInvoice(
  { findOrder, sendCommand }: Pick<PayoutPorts, 'findOrder' | 'sendCommand'>,
  id: string,
  submission: SubmitInvoice,
): Promise<{ readonly order: string; readonly payment_hash: string }> {
  await sendCommand(command<SettlementTarget>('settlement', id, submission))
  const { paymentHash } = submission.data
  const refusal = (await findOrder(id))?.hold?.payout?.refusal
  if (refusal?.paymentHash === paymentHash) throw new Error(refusal.reason)
  return { order: id, payment_hash: paymentHash }
}
