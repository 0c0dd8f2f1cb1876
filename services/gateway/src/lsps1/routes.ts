import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express'
import { internal } from '../graphql/format-error.ts'
import type { Mount } from '../http.ts'
import { countUse } from '../operations/throttle.ts'
import type { Gateway } from '../ports.ts'
import { recordText } from '../read/accounts.ts'
import { isUnread, orderById } from '../read/orders.ts'
import { addressKey } from '../web/address.ts'
import { limitHeaders } from '../web/rate-limit.ts'
import { whenReady } from '../web/ready.ts'
import { openToAllOrigins } from '../web/security.ts'
import { type LspType, lspTypes, type Outside } from './book.ts'
import { createOrder } from './create-order.ts'
import { type Fault, invalidParams, noSuchAddress, notFound, tooMany, unavailable, unreadable } from './faults.ts'
import { getInfo } from './info.ts'
import { openApi } from './openapi.ts'
import { lspOrderOf } from './order-record.ts'
import { createOrderBody, getOrderQuery, type LspOrder } from './schemas.ts'

const BASE = '/api/lsp/v1'

/** LSPS1 (bLIP-51) over HTTP. @param outside what is looked up at the market's own node */
export const lsps1Routes =
  (outside: Outside): Mount =>
  (app, gateway) => {
    const ready = whenReady(gateway, (response) =>
      answer(response, unavailable(503, 'The service is starting; try again in a moment.')),
    )
    const document = openApi()
    app.use(BASE, openToAllOrigins)
    only(app, `${BASE}/openapi.json`, 'get', (_, response) => void response.json(document))
    for (const type of lspTypes) app.use(`${BASE}/${type}`, uncached, ready, typeRoutes(gateway, outside, type))
    app.use(BASE, ({ path }: Request, response: Response) => answer(response, noSuchAddress(path)))
    app.use(BASE, failed(gateway))
  }

function typeRoutes(gateway: Gateway, outside: Outside, type: LspType): Router {
  const router = Router()
  only(router, '/get_info', 'get', async (_, response) => answer(response, await getInfo(gateway, outside, type)))
  only(router, '/get_order', 'get', async (request, response) => {
    const asked = getOrderQuery.safeParse(request.query)
    if (!asked.success) return answer(response, unreadable(asked.error))
    const id = asked.data.order_id.toLowerCase()
    const polls = { name: 'order-polls', subject: id, ip: addressKey(request.ip), perMinute: gateway.config.orderPollsPerMinute }
    if (await isTooOften(gateway, polls, response)) return
    answer(response, await getOrder(gateway, type, id))
  })
  const json = express.json({ limit: '64kb', strict: false })
  only(router, '/create_order', 'post', onlyJson, json, async (request, response) => {
    const body = createOrderBody.safeParse(request.body)
    if (!body.success) return answer(response, unreadable(body.error))
    const ip = addressKey(request.ip)
    // Counted together with `buy`: it is the same wish, through another door.
    if (await isTooOften(gateway, { name: 'buy', ip, perMinute: gateway.config.buyPerMinute }, response)) return
    answer(response, await createOrder(gateway, outside, type, body.data, ip))
  })
  return router
}

/** Counts a use. @returns true where there were too many within a minute, which is answered then */
async function isTooOften(gateway: Gateway, use: Parameters<typeof countUse>[1], response: Response): Promise<boolean> {
  const { exceeded } = await countUse(gateway, use)
  if (!exceeded) return false
  response.setHeaders(new Map(limitHeaders(exceeded)))
  answer(response, tooMany('Too many requests within a minute. Wait before you try again.'))
  return true
}

/** An order of the other type, or one that was not placed here, answers as an unknown one. */
async function getOrder({ views, records }: Gateway, type: LspType, id: string): Promise<LspOrder | Fault> {
  const found = await orderById(views, id)
  if (!found && (await isUnread(views, id))) return unavailable(500, 'The order cannot be read just now; try again.')
  if (found?.order.terms.source !== `lsps1-${type}`) return notFound()
  return lspOrderOf(found, await recordText(records, found.order.terms.record?.id ?? null, 'token')) ?? notFound()
}

/** One method at an address; others are told which. */
function only(
  router: Pick<Router, 'get' | 'post' | 'all'>,
  path: string,
  method: 'get' | 'post',
  ...handlers: RequestHandler[]
): void {
  router[method](path, ...handlers)
  const allowed = method === 'get' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS'
  router.all(path, (_, response) => {
    response.set('allow', allowed)
    answer(response, invalidParams('method', `This address takes ${method.toUpperCase()}.`, 405))
  })
}

const uncached: RequestHandler = (_, response, next) => {
  response.set('cache-control', 'no-store')
  next()
}

const onlyJson: RequestHandler = (request, response, next) => {
  if (request.is('application/json')) return next()
  answer(response, invalidParams('body', 'Send the order as JSON, with Content-Type: application/json.', 415))
}

const answer = (response: Response, result: object | Fault): void => {
  if ('fault' in result) response.status(result.fault.statusCode).json(result.fault)
  else response.json(result)
}

const failed =
  ({ log }: Gateway): ErrorRequestHandler =>
  (error: unknown, _, response, next) => {
    if (response.headersSent) return next(error)
    const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
    if (status === 413) return answer(response, invalidParams('body', 'The body is larger than 64 KiB.', 413))
    if (status === 415)
      return answer(response, invalidParams('body', 'The encoding of the body is not supported; send UTF-8.', 415))
    if (typeof status === 'number' && status < 500) return answer(response, invalidParams('body', 'The body is not valid JSON.'))
    answer(response, unavailable(500, internal(log, error).message))
  }
