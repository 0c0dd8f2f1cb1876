import type { Migration, Views } from '@penstock/ports/views.ts'
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import pg from 'pg'
import { checkMigrated, migrate } from '../sql/migrate.ts'
import { checkDurable } from './durable.ts'
import { openConnectionPool, type ConnectionPool, type PostgresSettings } from './pool.ts'

export type PostgresViewsOptions = PostgresSettings & {
  /** 'check' refuses a schema that is older than the program; 'migrate' migrates it. */
  readonly schema?: 'check' | 'migrate'
}

/**
 * Opens tables for any number of processes. Every commit waits for the disk, unlike on SQLite, because processes survive a crash
 * of the server and rely on acknowledged commits.
 */
export function openPostgresViews({ schema = 'migrate', ...settings }: PostgresViewsOptions): Views {
  const pool = openConnectionPool(settings, { types: typeParsers })
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: toKyselyPool(pool) }) })
  return {
    db,
    async migrate(name, steps) {
      await checkDurable(pool)
      await (schema === 'check' ? checkMigrated(db, name, steps) : migrateLocked(db, name, steps))
    },
    close: () => db.destroy(),
  }
}

const INT8 = 20

/** Parses counts and milliseconds as numbers, as on SQLite, because none of them exceeds 2^53. */
const typeParsers: pg.CustomTypesConfig = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (oid === INT8) return Number
    return pg.types.getTypeParser(oid) as (text: string) => unknown // typed as any there
  },
}

/** An arbitrary number that no other advisory lock of the database uses. */
export const MIGRATION_LOCK = 7_368_632_641

/** Limits the wait for a table lock, because later statements on the table queue behind a waiting step. */
const LOCK_TIMEOUT_MS = 5000

/** Processes that start together migrate one after the other, because concurrent `create table if not exists` can fail. */
const migrateLocked = (db: Kysely<object>, name: string, steps: readonly Migration[]): Promise<void> =>
  db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${sql.lit(MIGRATION_LOCK)})`.execute(connection)
    try {
      await sql`set lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(connection)
      await migrate(connection, name, steps)
    } finally {
      await sql`reset lock_timeout`.execute(connection)
      await sql`select pg_advisory_unlock(${sql.lit(MIGRATION_LOCK)})`.execute(connection)
    }
  })

/** Kysely uses only the part of a `pg` pool that ours implements. */
function toKyselyPool(pool: ConnectionPool): PostgresPool {
  return { ...pool, options: {} } as unknown as PostgresPool // its client type also has cursors, which are not used here
}
