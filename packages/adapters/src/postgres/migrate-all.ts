import type { Views } from '@penstock/ports/views.ts'
import { sqlDeliveries } from '../sql/deliveries.ts'
import { sqlLeases } from '../sql/leases.ts'
import { sqlLimits } from '../sql/limits.ts'
import { sqlProgress } from '../sql/progress.ts'
import { sqlRecords } from '../sql/records.ts'
import { sqlTimers } from '../sql/timers.ts'
import type { EventLogs } from './event-logs.ts'
import { migrateEventLogs } from './event-schema.ts'
import { migrateReadModels } from './read-models.ts'
import { serverTime } from './server-time.ts'

/**
 * Migrates every table, for the job that runs before the services. Two jobs may run at once. Steps cannot be undone.
 * @param more migrations of the services' own tables, by their projections and by the runtime
 */
export async function migrateAll(
  views: Views,
  logs: EventLogs,
  more: readonly ((views: Views) => Promise<void>)[],
): Promise<void> {
  await migrateEventLogs(views, logs)
  for (const make of [sqlProgress, sqlTimers, sqlLimits, sqlRecords, sqlDeliveries]) await make(views)
  await sqlLeases(views, serverTime)
  await migrateReadModels(views)
  for (const migrate of more) await migrate(views)
}
