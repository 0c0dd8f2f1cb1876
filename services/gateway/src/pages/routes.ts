import type { Express, Request, RequestHandler, Response } from 'express'
import type { Mount } from '../http.ts'
import type { Gateway } from '../ports.ts'
import { orderByPage, type StoredOrder } from '../read/orders.ts'
import { reasonGiven } from '../read/reason.ts'
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
      else send(response, 'order', { ...(await page(gateway, found)), checkout: `/checkout/${token}` })
    })
    app.get(`/${kind}/:token/events`, ready, async (request, response) => {
      const found = await foundBy(gateway, request)
      if (!found) return void response.status(404).end()
      await streams.follow(found, addressKey(request.ip), response)
    })
  }
  notFound(app)
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

const foundBy = async ({ views }: Gateway, { params }: Request): Promise<StoredOrder | undefined> => {
  const token = String(params['token'])
  return /^[\w-]{43}$/.test(token) ? orderByPage(views, pageHash(token)) : undefined
}

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
