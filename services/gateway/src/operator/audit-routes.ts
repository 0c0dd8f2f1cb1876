import type { AuditReport } from '@penstock/runtime/audit.ts'
import type { OrderExport } from '@penstock/runtime/audit-export.ts'
import type { Replay } from '@penstock/runtime/audit-replay.ts'
import { Router } from 'express'
import { z } from 'zod'
import { answer, bodyOf, foundOrder, orderIdOf } from './answers.ts'
import { slowAnswer } from './slow-answer.ts'

export type OperatorAudit = {
  /** `note`: what an earlier audit said of the log's end. */
  readonly verify: (note?: string) => Promise<AuditReport>
  readonly replay: (orderId: string) => Promise<Replay | undefined>
  readonly export: (orderId: string) => Promise<OrderExport | undefined>
}

const wanted = z.strictObject({ note: z.string().max(128).optional() })

/** What auditors ask: whether the store is whole, and all that is recorded of an order. */
export function auditRoutes(audit: OperatorAudit): Router {
  const router = Router()
  router.post(
    '/verify',
    slowAnswer(({ body }) => audit.verify(bodyOf(wanted, body ?? {}).note)),
  )
  router.get(
    '/replay/:id',
    answer(async ({ params }) => foundOrder(await audit.replay(orderIdOf(params)))),
  )
  router.get(
    '/export/:id',
    answer(async ({ params }) => foundOrder(await audit.export(orderIdOf(params)))),
  )
  return router
}
