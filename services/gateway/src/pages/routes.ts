import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { Bug } from '@penstock/kernel/result.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import type { Mount } from '../http.ts'
import type { Gateway } from '../ports.ts'
import { carryOut } from '../operator/mount.ts'
import { giveInvoice } from '../operator/payout-routes.ts'
import { orderById, orderByPage, type StoredOrder } from '../read/orders.ts'
import { reasonGiven } from '../read/reason.ts'
import { owedToBuyerMsat } from '../views/owed.ts'
import { addressKey } from '../web/address.ts'
import { whenReady } from '../web/ready.ts'
import { pageHash } from './address.ts'
import { home } from './home.ts'
import { orderPageOf } from './order-page.ts'
import { redirectOf } from './redirect.ts'
import { assets, qrOf, render, type Template } from './render.ts'
import { openStreams } from './stream.ts'

/** Pages for people. They are whole without a script; the script only keeps them fresh. Mounted last: it answers what nobody else did. */
export const pageRoutes: Mount = (app, gateway) => {
  const ready = whenReady(
    gateway,
    (response) => void response.type('text').send('The service is starting; try again in a moment.'),
  )
  const streams = openStreams(gateway)
  for (const { path, type, body } of assets) app.get(path, asset(type, body))
  app.get('/', ready, async (_, response) => send(response, 'home', await home(gateway)))
  for (const kind of ['checkout', 'orders'] as const) {
    app.get(`/${kind}/:token`, ready, async (request, response) => {
      const found = await foundBy(gateway, request)
      if (!found) return missing(response)
      const token = String(request.params['token'])
      if (kind === 'checkout') send(response, 'checkout', await checkout(gateway, found, token))
      else send(response, 'order', await orderValues(gateway, found, token))
    })
    app.get(`/${kind}/:token/events`, ready, async (request, response) => {
      const found = await foundBy(gateway, request)
      if (!found) return void response.status(404).end()
      await streams.follow(found, addressKey(request.ip), response)
    })
  }
  app.post('/orders/:token/refund', ready, form, async (request, response) => {
    const token = String(request.params['token'])
    const refused = await refundByPage(gateway, token, request.body)
    if (refused === undefined) return response.redirect(303, `/orders/${token}`)
    if (refused === 'missing') return missing(response)
    const { found, refundError } = refused
    send(response.status(422), 'order', { ...(await orderValues(gateway, found, token)), refundError })
  })
  notFound(app)
}

/** Whatever it calls itself: a body that nobody reads would keep its caller waiting. */
const form = express.urlencoded({ extended: false, limit: '16kb', type: () => true })

const orderValues = async (gateway: Gateway, found: StoredOrder, token: string): Promise<object> => ({
  ...(await page(gateway, found)),
  checkout: `/checkout/${token}`,
  refund: `/orders/${token}/refund`,
})

/** The form on the order's page. @returns why not, where it is not taken */
export async function refundByPage(
  gateway: Gateway,
  token: string,
  body: unknown,
): Promise<'missing' | { readonly found: StoredOrder; readonly refundError: string } | undefined> {
  const found = await orderAt(gateway, token)
  if (!found) return 'missing'
  const refundError = await refund(gateway, found, body)
  return refundError === undefined ? undefined : { found, refundError }
}

/** What is owed to the buyer is paid to the invoice that it gives here. @returns why not, where it is not taken */
async function refund(gateway: Gateway, { order, hold }: StoredOrder, body: unknown): Promise<string | undefined> {
  if (!hold || owedToBuyerMsat(hold.owed) === undefined) return 'Nothing of this order waits for an invoice of yours.'
  const given = typeof body === 'object' && body !== null && 'request' in body ? String(body.request).trim() : ''
  const invoice = decodePaymentRequest(given.replace(/^lightning:/i, ''))
  if (!invoice) return 'This is no Lightning invoice; copy a whole BOLT 11 invoice of your wallet.'
  const ports = {
    order: (id: string) => orderById(gateway.views, id),
    command: (wanted: Ask) => carryOut(gateway, wanted),
  }
  return giveInvoice(ports, order.id, 'GiveRefundInvoice', { ...invoice, request: given.replace(/^lightning:/i, '') }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Error && !(error instanceof Bug)) return error.message
      throw error
    },
  )
}

const page = async (gateway: Gateway, found: StoredOrder) => ({
  page: orderPageOf(found, gateway.clock.now(), await reasonGiven(gateway, found.order)),
})

async function checkout(gateway: Gateway, found: StoredOrder, token: string): Promise<object> {
  const shown = await page(gateway, found)
  const { invoice } = shown.page
  return {
    ...shown,
    qr: invoice === null ? null : await qrOf(invoice),
    next: await redirectOf(gateway, found.order, `/orders/${token}`),
  }
}

const foundBy = (gateway: Gateway, { params }: Request): Promise<StoredOrder | undefined> =>
  orderAt(gateway, String(params['token']))

const orderAt = async ({ views }: Gateway, token: string): Promise<StoredOrder | undefined> =>
  /^[\w-]{43}$/.test(token) ? orderByPage(views, pageHash(token)) : undefined

function send(response: Response, template: Template, values: object): void {
  response.set('cache-control', 'no-store').type('html').send(render(template, values))
}

const missing = (response: Response): void => send(response.status(404), 'missing', {})

const asset =
  (type: string, body: string): RequestHandler =>
  (_, response) => {
    response.set('cache-control', 'public, max-age=31536000, immutable').type(type).send(body)
  }

/** People get a page, programs what they get everywhere else. */
function notFound(app: Express): void {
  app.use((request: Request, response: Response, next) => {
    const isVisit = request.method === 'GET' && request.accepts(['json', 'html']) === 'html'
    if (isVisit) missing(response)
    else next()
  })
}
