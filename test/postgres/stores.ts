import type { EventLogs } from '@penstock/adapters/postgres/event-logs.ts'
import { migrateAll } from '@penstock/adapters/postgres/migrate-all.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { PostgresDatabases } from '@penstock/servers/postgres.ts'

/** The owner of each category: the categories of the market's services, and further categories of these suites. */
export const TEST_EVENT_LOGS: EventLogs = new Map([
  ...categoryOwners,
  ['hold', 'settlement'],
  ['payout', 'settlement'],
  ['holder', 'matching'],
])

/** For each server, the name of the template that this test file copies. */
const templates = new WeakMap<PostgresDatabases, Promise<string>>()

/** @returns the URL of a new database with all tables, which are empty */
export async function createEmptyDatabase(databases: PostgresDatabases): Promise<string> {
  const template = templates.get(databases) ?? makeTemplate(databases)
  templates.set(databases, template)
  return databases.createDatabase(undefined, await template)
}

async function makeTemplate(databases: PostgresDatabases): Promise<string> {
  const url = await databases.createDatabase()
  const views = openPostgresViews({ url })
  await migrateAll(views, TEST_EVENT_LOGS, [])
  await views.close()
  return new URL(url).pathname.slice(1)
}
