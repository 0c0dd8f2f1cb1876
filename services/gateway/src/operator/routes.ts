import { command, type AddressedCommand } from '@penstock/kernel/process.ts'
import type { SellerTarget } from '@penstock/contracts/matching.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Gauges } from '@penstock/runtime/observability/gauges.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import express, { type Request, type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { toAddressKey } from '../http/client-address.ts'
import { recordRefusal } from '../http/refusals.ts'
import {
  respondWithJson,
  parseOperatorBody,
  createOperatorErrorHandler,
  requireOrder,
  requireOperatorToken,
  parseOrderId,
  disableCaching,
} from './http.ts'
import { createAuditRouter, type OperatorAudit } from './audit-routes.ts'
import type { StoredOrder } from '../market/read/orders.ts'
import { createPaymentRouter, type PaymentPorts } from './payment-routes.ts'
import { createPayoutRouter } from './payout-routes.ts'
import { createWebhookRouter, type WebhookPorts } from './webhook-routes.ts'
import type { SimulatedNetworkControl } from './simulation.ts'
import { createSimulationRouter } from './simulation-routes.ts'
import { type RebuildViews, createRebuildHandler } from './views-route.ts'
import type { Page } from '../list-page.ts'

export type OperatorPorts = {
  readonly token: string
  readonly log: Logger
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly bus: Bus
  /** Reads the operator's report of any order; undefined for an unknown id. */
  readonly readOrderReport: (orderId: string) => Promise<object | undefined>
  readonly findOrder: (orderId: string) => Promise<StoredOrder | undefined>
  readonly listOpenPayouts: (page: Page) => Promise<object>
  readonly payments: PaymentPorts
  readonly webhooks: Omit<WebhookPorts, 'sendCommand'>
  readonly audit: OperatorAudit
  readonly rebuildViews: RebuildViews
  /** The gauges of this process; undefined if it has none. */
  readonly gauges: Gauges | undefined
  /** Sends a command, and resolves when the read models contain its result. */
  readonly sendCommand: (ask: AddressedCommand) => Promise<void>
  /** Null on a real network. */
  readonly simulation: SimulatedNetworkControl | null
}

const parkedKeyBody = z.strictObject({ group: z.string(), topic: z.string(), key: z.string() })
const replayBody = z.union([parkedKeyBody, z.strictObject({ all: z.literal(true) })])
// In lower case like the name of the seller's stream, because a grant in another stream would have no effect.
const pubkey = z
  .string()
  .refine(isPubkey, 'a public key in hex')
  .transform((key) => key.toLowerCase())
const grantBody = z.strictObject({ pubkey, reason: z.string().min(1).max(500) })

const closeBody = z.strictObject({
  by: z.string().min(1).max(100).default('operator'),
  reason: z.string().min(1).max(500),
  bear_loss: z.literal(true).optional(),
})

/**
 * Creates all routes for operators, which require the operator's token: orders, audits, parked messages, grants, payouts,
 * payments, metrics, the simulated network.
 */
export function createOperatorRouter(ports: OperatorPorts): Router {
  const router = Router()
  const onRefused = ({ ip }: Request) => recordRefusal(ports, { method: 'operator', code: 'wrong', ip: toAddressKey(ip) })
  router.use(disableCaching, requireOperatorToken(ports.token, onRefused), express.json({ limit: '64kb' }))
  router.get(
    '/orders/:id',
    respondWithJson(async ({ params }) => requireOrder(await ports.readOrderReport(parseOrderId(params)))),
  )
  router.post(
    '/orders/:id/close',
    respondWithJson(async ({ params, body }) => {
      const id = parseOrderId(params)
      requireOrder(await ports.findOrder(id))
      const { by, reason, bear_loss: bearsLoss } = parseOperatorBody(closeBody, body)
      await ports.sendCommand(
        command<OrderTarget>('order', id, { type: 'CloseByOperator', data: { by, reason, ...(bearsLoss && { bearsLoss }) } }),
      )
      return { order: id, closed: true }
    }),
  )
  router.use('/audit', createAuditRouter(ports.audit))
  router.post('/views/rebuild', createRebuildHandler(ports.rebuildViews))
  router.get('/metrics', createMetricsHandler(ports.gauges))
  router.get(
    '/parked',
    respondWithJson(() => ports.bus.parked()),
  )
  router.post(
    '/parked/replay',
    respondWithJson(async ({ body }) => ({ replayed: await replayParked(ports.bus, parseOperatorBody(replayBody, body)) })),
  )
  router.post(
    '/sellers/grant',
    respondWithJson(async ({ body }) => {
      const { pubkey, reason } = parseOperatorBody(grantBody, body)
      await ports.sendCommand(command<SellerTarget>('seller', pubkey, { type: 'GrantRails', data: { by: 'operator', reason } }))
      return { pubkey, granted: true }
    }),
  )
  router.use('/payouts', createPayoutRouter(ports))
  router.use('/payments', createPaymentRouter(ports.payments))
  router.use('/webhooks', createWebhookRouter({ ...ports.webhooks, sendCommand: ports.sendCommand }))
  if (ports.simulation) router.use('/sim', createSimulationRouter(ports.simulation))
  router.use((_request, response) => void response.status(404).json({ error: 'There is no such operator route.' }))
  router.use(createOperatorErrorHandler(ports.log))
  return router
}

const createMetricsHandler =
  (gauges: Gauges | undefined): RequestHandler =>
  async (_, response) => {
    if (!gauges) return void response.status(404).json({ error: 'This process keeps no metrics.' })
    const { contentType, text } = await gauges.render()
    // Ends the response directly, because express would add a second charset.
    response.setHeader('content-type', contentType).end(text)
  }

async function replayParked(bus: Bus, target: z.output<typeof replayBody>): Promise<number> {
  const keys = 'all' in target ? await bus.parked() : [target]
  let messages = 0
  for (const key of keys) messages += await bus.replay(key)
  return messages
}
