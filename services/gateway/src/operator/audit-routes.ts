import type { AuditReport } from '@penstock/runtime/audit.ts'
import type { OrderExport } from '@penstock/runtime/audit-export.ts'
import type { Replay } from '@penstock/runtime/audit-replay.ts'
import { lookedUp } from '@penstock/runtime/gauges.ts'
import { Router } from 'express'
import { z } from 'zod'
import { answer, bodyOf, foundOrder, orderIdOf } from './answers.ts'

export type OperatorAudit = {
  /** `note`: what an earlier audit said of the log's end. */
  readonly verify: (note?: string) => Promise<AuditReport>
  readonly replay: (orderId: string) => Promise<Replay | undefined>
  readonly export: (orderId: string) => Promise<OrderExport | undefined>
}

const divergences = lookedUp(
  'penstock_audit_divergences',
  'Divergences that the last audit found which this process was asked for.',
)
const balanced = lookedUp('penstock_audit_ledger_balanced', '1 if all ledger postings added up to nothing in that audit.')
const verifiedAt = lookedUp('penstock_audit_timestamp_seconds', 'When that audit was over, in seconds since 1970.')

function noted(report: AuditReport): AuditReport {
  divergences.set(report.divergences)
  balanced.set(report.ledger_balanced ? 1 : 0)
  verifiedAt.setToCurrentTime()
  return report
}

const wanted = z.strictObject({ note: z.string().max(128).optional() })

/** What auditors ask: whether the store is whole, and all that is recorded of an order. */
export function auditRoutes(audit: OperatorAudit): Router {
  const router = Router()
  router.post(
    '/verify',
    answer(async ({ body }) => noted(await audit.verify(bodyOf(wanted, body ?? {}).note))),
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
