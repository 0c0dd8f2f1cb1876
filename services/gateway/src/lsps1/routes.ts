import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express'
import { reportInternalError } from '../http/graphql/format-error.ts'
import type { Mount } from '../http/app.ts'
import { countUse, type TakeBack, takeBackRefused } from '../rate-limit.ts'
import type { Gateway } from '../ports.ts'
import { buyLimit } from '../market/purchase/buy-limit.ts'
import { isMarketBusy } from '../market/purchase/place-order.ts'
import { isOrderUnavailable, findStoredOrder } from '../market/read/orders.ts'
import { toAddressKey } from '../http/client-address.ts'
import { createRateLimitHeaders } from '../http/too-many-requests.ts'
import { createReadinessGate } from '../http/readiness-gate.ts'
import { allowAllOrigins } from '../http/security.ts'
import { type LspType, lspTypes, type NodeSources } from './book.ts'
import { createOrder } from './create-order.ts'
import {
  type LspFault,
  invalidParams,
  unknownPath,
  lspOrderNotFound,
  lspRateLimited,
  unavailable,
  malformedRequest,
} from './faults.ts'
import { getInfo } from './info.ts'
import { createLspOpenApi } from './openapi.ts'
import { buildOrderUrl } from '../pages/page-url.ts'
import { toLspOrder, toLspRefund } from './order-record.ts'
import { createOrderBody, getOrderQuery, type LspOrder } from './schemas.ts'
import { readRecordText } from '../read-record-text.ts'

const BASE = '/api/lsp/v1'

/** Mounts LSPS1 (bLIP-51) over HTTP. @param nodeSources addresses and fee rates from the market's own node */
export const createLsps1Mount =
  (nodeSources: NodeSources): Mount =>
  (app, gateway) => {
    const readinessGate = createReadinessGate(gateway, (response) =>
      sendResult(response, unavailable(503, 'The service is starting; try again in a moment.')),
    )
    const document = createLspOpenApi(gateway.config)
    app.use(BASE, allowAllOrigins)
    addRoute(app, `${BASE}/openapi.json`, 'get', (_, response) => void response.json(document))
    for (const type of lspTypes) {
      const routes = createTypeRouter(gateway, nodeSources, type)
      // Wallets whose setting is only a host append `/api/v1`, the path of the standard.
      app.use(`${BASE}/${type}/api/v1`, disableCaching, readinessGate, routes)
      app.use(`${BASE}/${type}`, disableCaching, readinessGate, routes)
    }
    app.use(BASE, ({ path }: Request, response: Response) => sendResult(response, unknownPath(path)))
    app.use(BASE, createLspErrorHandler(gateway))
  }

function createTypeRouter(gateway: Gateway, nodeSources: NodeSources, type: LspType): Router {
  const router = Router()
  addRoute(router, '/get_info', 'get', async (_, response) => sendResult(response, await getInfo(gateway, nodeSources, type)))
  addRoute(router, '/get_order', 'get', async (request, response) => {
    const query = getOrderQuery.safeParse(request.query)
    if (!query.success) return sendResult(response, malformedRequest(query.error))
    const id = query.data.order_id.toLowerCase()
    const polls = {
      name: 'order-polls',
      subject: id,
      ip: toAddressKey(request.ip),
      perMinute: gateway.config.orderPollsPerMinute,
    }
    await runWithLowPriority(async () => {
      if (await countOrRefuse(gateway, polls, response)) sendResult(response, await getOrder(gateway, type, id))
    })
  })
  const json = express.json({ limit: '64kb', strict: false })
  addRoute(router, '/create_order', 'post', requireJson, json, async (request, response) => {
    const body = createOrderBody.safeParse(request.body)
    if (!body.success) return sendResult(response, malformedRequest(body.error))
    const ip = toAddressKey(request.ip)
    // Counted together with `buy`, because both request a purchase.
    const purchases = { name: buyLimit.name, ip, perMinute: buyLimit.perMinute(gateway.config) }
    const takeBack = isMarketBusy(gateway) ? noTakeBack : await countOrRefuse(gateway, purchases, response)
    if (!takeBack) return
    const result = await createOrder(gateway, nodeSources, type, body.data, ip)
    // The market may have become busy since the count.
    if ('retryAfterSeconds' in result) await takeBackRefused(gateway, takeBack)
    // Only the buyer learns the page of its order. Everybody who knows the order's id, like its sellers, reads `get_order`.
    if ('order_id' in result)
      response.set('link', `<${buildOrderUrl(gateway, result.order_id)}>; rel="alternate"; type="text/html"`)
    sendResult(response, result)
  })
  return router
}

const noTakeBack: TakeBack = async () => undefined

/** Counts a use. If it exceeds the limit per minute, this function sends the error and returns undefined. */
async function countOrRefuse(
  gateway: Gateway,
  use: Parameters<typeof countUse>[1],
  response: Response,
): Promise<TakeBack | undefined> {
  const { exceeded, takeBack } = await countUse(gateway, use)
  if (!exceeded) return takeBack
  response.setHeaders(new Map(createRateLimitHeaders(exceeded)))
  sendResult(response, lspRateLimited('Too many requests within a minute. Wait before you try again.'))
  return undefined
}

/** Answers an order of the other type, or of another interface, like an unknown order. */
async function getOrder(gateway: Gateway, type: LspType, id: string): Promise<LspOrder | LspFault> {
  const { views, records } = gateway
  const found = await findStoredOrder(views, id)
  if (!found && (await isOrderUnavailable(views, id))) return unavailable(500, 'The order cannot be read just now; try again.')
  if (found?.order.terms.source !== `lsps1-${type}`) return lspOrderNotFound()
  const order = toLspOrder(found, await readRecordText(records, found.order.terms.record?.id ?? null, 'token'))
  return order ? { ...order, ...toLspRefund(found) } : lspOrderNotFound()
}

/** Mounts one method at a path. Other methods get status 405 with the allowed methods. */
function addRoute(
  router: Pick<Router, 'get' | 'post' | 'all'>,
  path: string,
  method: 'get' | 'post',
  ...handlers: RequestHandler[]
): void {
  router[method](path, ...handlers)
  const allowed = method === 'get' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS'
  router.all(path, (_, response) => {
    response.set('allow', allowed)
    sendResult(response, invalidParams('method', `This path accepts only ${method.toUpperCase()}.`, 405))
  })
}

const disableCaching: RequestHandler = (_, response, next) => {
  response.set('cache-control', 'no-store')
  next()
}

const requireJson: RequestHandler = (request, response, next) => {
  if (request.is('application/json')) return next()
  sendResult(response, invalidParams('body', 'Send the order as JSON, with Content-Type: application/json.', 415))
}

const sendResult = (response: Response, result: object | LspFault): void => {
  if ('fault' in result) {
    if ('retryAfterSeconds' in result) response.set('retry-after', `${result.retryAfterSeconds}`)
    response.status(result.fault.statusCode).json(result.fault)
  } else response.json(result)
}

const createLspErrorHandler =
  ({ log }: Gateway): ErrorRequestHandler =>
  (error: unknown, _, response, next) => {
    if (response.headersSent) return next(error)
    const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
    if (status === 413) return sendResult(response, invalidParams('body', 'The body is larger than 64 KiB.', 413))
    if (status === 415)
      return sendResult(response, invalidParams('body', 'The encoding of the body is not supported; send UTF-8.', 415))
    if (typeof status === 'number' && status < 500)
      return sendResult(response, invalidParams('body', 'The body is not valid JSON.'))
    sendResult(response, unavailable(500, reportInternalError(log, error).message))
  }
