import { seller } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Gauges } from '@penstock/runtime/gauges.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { type Ask, ask } from '@penstock/runtime/service.ts'
import express, { type Request, type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { addressKey } from '../web/address.ts'
import { recordRefusal } from '../web/refusals.ts'
import { answer, bodyOf, failed, foundOrder, operatorOnly, orderIdOf, uncached } from './answers.ts'
import { auditRoutes, type OperatorAudit } from './audit-routes.ts'
import type { Page } from '../input.ts'
import type { StoredOrder } from '../read/orders.ts'
import { payoutRoutes } from './payout-routes.ts'
import type { Simulation } from './simulation.ts'
import { simulationRoutes } from './simulation-routes.ts'
import { type RebuildViews, viewsRoute } from './views-route.ts'

export type OperatorPorts = {
  readonly token: string
  readonly log: Log
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly bus: Bus
  /** An order as an operator sees it, whoever's it is. */
  readonly orderReport: (orderId: string) => Promise<object | undefined>
  readonly order: (orderId: string) => Promise<StoredOrder | undefined>
  readonly openPayouts: (page: Page) => Promise<object>
  readonly audit: OperatorAudit
  readonly rebuildViews: RebuildViews
  /** Of this process; undefined where nobody keeps them. */
  readonly gauges: Gauges | undefined
  /** Sends a command and answers when the read models show what became of it. */
  readonly command: (ask: Ask) => Promise<void>
  /** Null on a real network. */
  readonly simulation: Simulation | null
}

const parked = z.strictObject({ group: z.string(), topic: z.string(), key: z.string() })
const replay = z.union([parked, z.strictObject({ all: z.literal(true) })])
// In small letters, as its stream is named: a grant under another name would help nobody.
const pubkey = z
  .string()
  .refine(isPubkey, 'a public key in hex')
  .transform((key) => key.toLowerCase())
const grant = z.strictObject({ pubkey, reason: z.string().min(1).max(500) })

const close = z.strictObject({
  by: z.string().min(1).max(100).default('operator'),
  reason: z.string().min(1).max(500),
  bear_loss: z.literal(true).optional(),
})

/** What operators may do, behind their token: orders of anybody, audits, parked messages, grants, the simulated network. */
export function operatorRoutes(ports: OperatorPorts): Router {
  const router = Router()
  const refused = ({ ip }: Request) => recordRefusal(ports, { method: 'operator', code: 'wrong', ip: addressKey(ip) })
  router.use(uncached, operatorOnly(ports.token, refused), express.json({ limit: '64kb' }))
  router.get(
    '/orders/:id',
    answer(async ({ params }) => foundOrder(await ports.orderReport(orderIdOf(params)))),
  )
  router.post(
    '/orders/:id/close',
    answer(async ({ params, body }) => {
      const id = orderIdOf(params)
      foundOrder(await ports.order(id))
      const { by, reason, bear_loss: bearsLoss } = bodyOf(close, body)
      await ports.command(ask(order, id, 'CloseByOperator', { by, reason, ...(bearsLoss && { bearsLoss }) }))
      return { order: id, closed: true }
    }),
  )
  router.use('/audit', auditRoutes(ports.audit))
  router.post('/views/rebuild', viewsRoute(ports.rebuildViews))
  router.get('/metrics', metricsRoute(ports.gauges))
  router.get(
    '/parked',
    answer(() => ports.bus.parked()),
  )
  router.post(
    '/parked/replay',
    answer(async ({ body }) => ({ replayed: await replayParked(ports.bus, bodyOf(replay, body)) })),
  )
  router.post(
    '/sellers/grant',
    answer(async ({ body }) => {
      const { pubkey, reason } = bodyOf(grant, body)
      await ports.command(ask(seller, pubkey, 'GrantRails', { by: 'operator', reason }))
      return { pubkey, granted: true }
    }),
  )
  router.use('/payouts', payoutRoutes(ports))
  if (ports.simulation) router.use('/sim', simulationRoutes(ports.simulation))
  router.use((_request, response) => void response.status(404).json({ error: 'There is no such operator route.' }))
  router.use(failed(ports.log))
  return router
}

const metricsRoute =
  (gauges: Gauges | undefined): RequestHandler =>
  async (_, response) => {
    if (!gauges) return void response.status(404).json({ error: 'This process keeps no metrics.' })
    const { contentType, text } = await gauges.page()
    // As it stands: express would add a second charset.
    response.setHeader('content-type', contentType).end(text)
  }

async function replayParked(bus: Bus, wanted: z.output<typeof replay>): Promise<number> {
  const keys = 'all' in wanted ? await bus.parked() : [wanted]
  let messages = 0
  for (const key of keys) messages += await bus.replay(key)
  return messages
}
