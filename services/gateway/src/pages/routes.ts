import { decodePaymentRequest, explainUnpayable, type PaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { Bug } from '@penstock/kernel/result.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import express, { type Request, type RequestHandler } from 'express'
import type { Mount } from '../http/app.ts'
import type { Gateway } from '../ports.ts'
import { executeOperatorCommand } from '../operator/mount.ts'
import { submitInvoice } from '../operator/payout-routes.ts'
import { findStoredOrder, findOrderByPageHash, type StoredOrder } from '../market/read/orders.ts'
import { readRejectionReason } from '../market/read/rejection-reason.ts'
import { getDueToBuyerMsat, type PayoutDue } from '../market/views/payout-due.ts'
import { toAddressKey } from '../http/client-address.ts'
import { createReadinessGate } from '../http/readiness-gate.ts'
import { findRoot, hashPageToken } from './page-url.ts'
import { buildHomeValues } from './home-values.ts'
import { buildOrderPage } from './order-page.ts'
import { findRedirect } from './redirect.ts'
import { assets, createQrCode } from './render-page.ts'
import { openPageStreams } from './page-streams.ts'
import { mountRemainingPages, sendNotFound, sendPage } from './send-page.ts'

/** Mounts the pages. They work without a script, and must be mounted last, because they answer every remaining path. */
export const mountPageRoutes: Mount = (app, gateway) => {
  const readinessGate = createReadinessGate(
    gateway,
    (response) => void response.type('text').send('The service is starting; try again in a moment.'),
  )
  const streams = openPageStreams(gateway)
  for (const { path, type, body } of assets) app.get(path, serveAsset(type, body))
  app.get('/', readinessGate, async (request, response) => sendPage(request, response, 'home', await buildHomeValues(gateway)))
  for (const kind of ['checkout', 'orders'] as const) {
    app.get(`/${kind}/:token`, readinessGate, async (request, response) => {
      const found = await findRequestedOrder(gateway, request)
      if (!found) return sendNotFound(request, response)
      const urls = buildPageUrls(request)
      if (kind === 'checkout') sendPage(request, response, 'checkout', await buildCheckoutValues(gateway, found, urls))
      else sendPage(request, response, 'order', await buildOrderValues(gateway, found, urls))
    })
    app.get(`/${kind}/:token/events`, readinessGate, async (request, response) => {
      const found = await findRequestedOrder(gateway, request)
      if (!found) return void response.status(404).end()
      await streams.follow(found, toAddressKey(request.ip), response)
    })
  }
  app.post('/orders/:token/refund', readinessGate, parseForm, async (request, response) => {
    const token = String(request.params['token'])
    const refusal = await refundByPage(gateway, token, request.body)
    const urls = buildPageUrls(request)
    if (refusal === undefined) return response.redirect(303, urls.order)
    if (refusal === 'missing') return sendNotFound(request, response)
    const { found, refundError } = refusal
    sendPage(request, response.status(422), 'order', { ...(await buildOrderValues(gateway, found, urls)), refundError })
  })
  mountRemainingPages(app, gateway)
}

/** Reads bodies of every content type, because an unread body would keep its caller waiting. */
const parseForm = express.urlencoded({ extended: false, limit: '16kb', type: () => true })

/** Addresses of an order's pages, relative to the page of the request. */
type PageUrls = { readonly checkout: string; readonly order: string }

function buildPageUrls({ path, params }: Request): PageUrls {
  const [root, token] = [findRoot(path), String(params['token'])]
  return { checkout: `${root}checkout/${token}`, order: `${root}orders/${token}` }
}

const buildOrderValues = async (gateway: Gateway, found: StoredOrder, { checkout, order }: PageUrls): Promise<object> => ({
  ...(await buildPageValues(gateway, found)),
  self: order,
  checkout,
  refund: `${order}/refund`,
  refundError: findRefundRefusal(found),
})

/** An invoice may be refused after its form was answered, for example because another order claimed its payment hash. */
function findRefundRefusal({ hold }: StoredOrder): string | undefined {
  const refusal = hold?.payout?.refusal
  if (!hold || !refusal || getDueToBuyerMsat(hold.owed) === undefined) return undefined
  return hold.owed.invoices[refusal.paymentHash]?.creditor === 'buyer' ? refusal.reason : undefined
}

/**
 * Handles the form on the order's page. A refund is a payout to the buyer: the seller's amount, if it is owed to the buyer.
 * @returns 'missing' for an unknown token, the message of a refusal, or undefined if the invoice is accepted
 */
export async function refundByPage(
  gateway: Gateway,
  token: string,
  body: unknown,
): Promise<'missing' | { readonly found: StoredOrder; readonly refundError: string } | undefined> {
  const found = await findOrderByToken(gateway, token)
  if (!found) return 'missing'
  const refundError = await submitRefundInvoice(gateway, found, body)
  return refundError === undefined ? undefined : { found, refundError }
}

/** Sends the buyer's invoice for the owed amount to the service settlement. @returns the message of a refusal */
async function submitRefundInvoice(gateway: Gateway, { order, hold }: StoredOrder, body: unknown): Promise<string | undefined> {
  const dueMsat = hold && getDueToBuyerMsat(hold.owed)
  if (!hold || dueMsat === undefined) return 'This order owes you no amount, so it needs no invoice.'
  const requestText = typeof body === 'object' && body !== null && 'request' in body ? String(body.request).trim() : ''
  const invoice = decodePaymentRequest(requestText.replace(/^lightning:/i, ''))
  if (!invoice) return 'This is no Lightning invoice; copy a whole BOLT 11 invoice of your wallet.'
  // A wrong invoice that reached settlement would become a fact, and visitors can make any number of wrong ones.
  const fault = explainRefundFault(invoice, dueMsat, hold.owed.invoices, gateway.clock.now())
  if (fault !== undefined) return fault
  const ports = {
    findOrder: (id: string) => findStoredOrder(gateway.views, id),
    sendCommand: (command: AddressedCommand) => executeOperatorCommand(gateway, command),
  }
  return submitInvoice(ports, order.id, 'SubmitRefundInvoice', {
    ...invoice,
    request: requestText.replace(/^lightning:/i, ''),
  }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Error && !(error instanceof Bug)) return error.message
      throw error
    },
  )
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

const buildPageValues = async (gateway: Gateway, found: StoredOrder) => ({
  page: buildOrderPage(found, gateway.clock.now(), await readRejectionReason(gateway, found.order)),
})

async function buildCheckoutValues(gateway: Gateway, found: StoredOrder, { checkout, order }: PageUrls): Promise<object> {
  const pageValues = await buildPageValues(gateway, found)
  const { invoice } = pageValues.page
  return {
    ...pageValues,
    self: checkout,
    qr: invoice === null ? null : await createQrCode(invoice),
    next: await findRedirect(gateway, found.order, order),
  }
}

const findRequestedOrder = (gateway: Gateway, { params }: Request): Promise<StoredOrder | undefined> =>
  findOrderByToken(gateway, String(params['token']))

const findOrderByToken = async ({ views }: Gateway, token: string): Promise<StoredOrder | undefined> =>
  /^[\w-]{43}$/.test(token) ? findOrderByPageHash(views, hashPageToken(token)) : undefined

const serveAsset =
  (type: string, body: string): RequestHandler =>
  (_, response) => {
    response.set('cache-control', 'public, max-age=31536000, immutable').type(type).send(body)
  }
