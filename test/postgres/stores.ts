import type { EventLogs } from '@penstock/adapters/postgres/event-logs.ts'
import { migrateAll } from '@penstock/adapters/postgres/migrate-all.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { owners } from '@penstock/runtime/owners.ts'
import type { PostgresServer } from '@penstock/servers/postgres.ts'

/** Categories as the suites name them: those of the market's services, and some of services that there are not. */
export const logs: EventLogs = new Map([...owners, ['hold', 'settlement'], ['payout', 'settlement'], ['holder', 'matching']])

const templates = new WeakMap<PostgresServer, Promise<unknown>>()

/** @returns the url of a new database with all tables, and nothing in them */
export async function emptyTables(server: PostgresServer): Promise<string> {
  const made = templates.get(server) ?? makeTemplate(server)
  templates.set(server, made)
  await made
  return server.createDatabase(undefined, 'empty_tables')
}

async function makeTemplate(server: PostgresServer): Promise<void> {
  const views = openPostgresViews({ url: await server.createDatabase('empty_tables') })
  await migrateAll(views, logs, [])
  await views.close()
}
