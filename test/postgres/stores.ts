import { migrateAll } from '@penstock/adapters/postgres/migrate-all.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { PostgresServer } from '@penstock/servers/postgres.ts'

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
  await migrateAll(views, [])
  await views.close()
}
