import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { GraphQLError } from 'graphql'
import express, { type Request, type RequestHandler } from 'express'
import type { Mount } from '../http/app.ts'
import type { Gateway } from '../ports.ts'
import { findRefundRefusal, giveRefundInvoice, type RefundTexts } from '../market/refund/give-refund-invoice.ts'
import { findOrderByPageHash, type StoredOrder } from '../market/read/orders.ts'
import { readRejectionReason } from '../market/read/rejection-reason.ts'
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
  app.get('/', readinessGate, async (request, response) => {
    sendPage(request, response, 'home', await runWithLowPriority(() => buildHomeValues(gateway)))
  })
  for (const kind of ['checkout', 'orders'] as const) {
    app.get(`/${kind}/:token`, readinessGate, async (request, response) => {
      const buildValues = kind === 'checkout' ? buildCheckoutValues : buildOrderValues
      const values = await runWithLowPriority(async () => {
        const found = await findRequestedOrder(gateway, request)
        return found && buildValues(gateway, found, buildPageUrls(request))
      })
      if (values) sendPage(request, response, kind === 'checkout' ? 'checkout' : 'order', values)
      else sendNotFound(request, response)
    })
    app.get(`/${kind}/:token/events`, readinessGate, async (request, response) => {
      const found = await runWithLowPriority(() => findRequestedOrder(gateway, request))
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
    const { found, ...refused } = refusal
    sendPage(request, response.status(422), 'order', { ...(await buildOrderValues(gateway, found, urls)), ...refused })
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
  refundTexts: { request: '', preimage: '' },
})

/** A refused form. Its page shows the texts again, so that the visitor can correct them. */
type RefusedRefund = { readonly found: StoredOrder; readonly refundError: string; readonly refundTexts: RefundTexts }

/**
 * Handles the form on the order's page. A refund is a payout to the buyer: the seller's amount, if it is owed to the buyer.
 * @returns 'missing' for an unknown token, the message of a refusal, or undefined if the invoice is accepted
 */
export async function refundByPage(
  gateway: Gateway,
  token: string,
  body: unknown,
): Promise<'missing' | RefusedRefund | undefined> {
  const found = await findOrderByToken(gateway, token)
  if (!found) return 'missing'
  const refundTexts = { request: readField(body, 'request'), preimage: readField(body, 'preimage') }
  try {
    await giveRefundInvoice(gateway, found, refundTexts)
    return undefined
  } catch (error) {
    // The gateway's own refusals are texts for a buyer.
    if (error instanceof GraphQLError) return { found, refundError: error.message, refundTexts }
    throw error
  }
}

/** A field that was sent twice counts as missing. */
function readField(form: unknown, name: string): string {
  const value: unknown = typeof form === 'object' && form !== null ? Reflect.get(form, name) : undefined
  return typeof value === 'string' ? value : ''
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
