import type { AuditReport } from '@penstock/audit/verify.ts'
import type { OrderExport } from '@penstock/audit/export-order.ts'
import type { OrderReplay } from '@penstock/audit/replay.ts'
import { Router } from 'express'
import { z } from 'zod'
import { respondWithJson, parseOperatorBody, requireOrder, parseOrderId } from './http.ts'
import { streamAnswer } from './streamed-answer.ts'

export type OperatorAudit = {
  /** `note`: the position and hash of the log's end that an earlier audit printed. */
  readonly verify: (note?: string) => Promise<AuditReport>
  readonly replay: (orderId: string) => Promise<OrderReplay | undefined>
  readonly export: (orderId: string) => Promise<OrderExport | undefined>
}

const verifyBody = z.strictObject({ note: z.string().max(128).optional() })

/** Creates the routes for auditors, which verify the store, and replay or export one order. */
export function createAuditRouter(audit: OperatorAudit): Router {
  const router = Router()
  router.post(
    '/verify',
    streamAnswer(({ body }) => audit.verify(parseOperatorBody(verifyBody, body ?? {}).note)),
  )
  router.get(
    '/replay/:id',
    respondWithJson(async ({ params }) => requireOrder(await audit.replay(parseOrderId(params)))),
  )
  router.get(
    '/export/:id',
    respondWithJson(async ({ params }) => requireOrder(await audit.export(parseOrderId(params)))),
  )
  return router
}
