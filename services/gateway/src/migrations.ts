import type { Views } from '@penstock/ports/views.ts'
import { areas } from './areas.ts'
import { outcomeMigrations } from './commands/outcome-table.ts'

/** Creates the tables of all areas at once, because the projections and jobs of one area also use tables of others. */
export async function migrateGateway(views: Views): Promise<void> {
  for (const { name, steps } of [outcomeMigrations, ...areas.flatMap(({ migrations = [] }) => migrations)])
    await views.migrate(name, steps)
}
