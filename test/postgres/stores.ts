import type { EventLogs } from '@penstock/adapters/postgres/event-logs.ts'
import { migrateAll } from '@penstock/adapters/postgres/migrate-all.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { PostgresServer } from '@penstock/servers/postgres.ts'

/** The owner of each category: the categories of the market's services, and further categories of these suites. */
export const TEST_EVENT_LOGS: EventLogs = new Map([
  ...categoryOwners,
  ['hold', 'settlement'],
  ['payout', 'settlement'],
  ['holder', 'matching'],
])

const templates = new WeakMap<PostgresServer, Promise<unknown>>()

/** @returns the URL of a new database with all tables, which are empty */
export async function createEmptyDatabase(server: PostgresServer): Promise<string> {
  const template = templates.get(server) ?? makeTemplate(server)
  templates.set(server, template)
  await template
  return server.createDatabase(undefined, 'empty_tables')
}

async function makeTemplate(server: PostgresServer): Promise<void> {
  const views = openPostgresViews({ url: await server.createDatabase('empty_tables') })
  await migrateAll(views, TEST_EVENT_LOGS, [])
  await views.close()
}
