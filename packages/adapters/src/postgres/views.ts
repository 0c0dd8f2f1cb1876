import type { Migration, Views } from '@penstock/ports/views.ts'
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import pg from 'pg'
import { checkMigrated, migrate } from '../sql/migrate.ts'
import { checkDurable } from './durable.ts'
import { openPool, type Pool, type PostgresSettings } from './pool.ts'

export type PostgresViewsOptions = PostgresSettings & {
  /** 'check': a schema that is not the program's is refused; 'migrate' brings it up to date. */
  readonly schema?: 'check' | 'migrate'
}

/**
 * Tables for any number of processes. Every commit is waited for on disk, other than in the embedded home: processes
 * outlive a crash of the server, and remember what they know to be committed.
 */
export function openPostgresViews({ schema = 'migrate', ...settings }: PostgresViewsOptions): Views {
  const pool = openPool(settings, { types })
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: asKyselyWants(pool) }) })
  return {
    db,
    async migrate(name, steps) {
      await checkDurable(pool)
      await (schema === 'check' ? checkMigrated(db, name, steps) : oneByOne(db, name, steps))
    },
    close: () => db.destroy(),
  }
}

const INT8 = 20

/** Counts and milliseconds are numbers, as on SQLite: none of them is above 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (oid === INT8) return Number
    return pg.types.getTypeParser(oid) as (text: string) => unknown // typed as any there
  },
}

/** Any number will do that nobody else uses for a lock of the database. */
const MIGRATION_LOCK = 7_368_632_641

/** A step that waits for a table in use holds up everybody who comes to that table after it. */
const TABLE_WITHIN_MS = 5000

/** Processes that start together wait for each other: even `create table if not exists` can meet itself. */
const oneByOne = (db: Kysely<object>, name: string, steps: readonly Migration[]): Promise<void> =>
  db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${sql.lit(MIGRATION_LOCK)})`.execute(connection)
    try {
      await sql`set lock_timeout = ${sql.lit(TABLE_WITHIN_MS)}`.execute(connection)
      await migrate(connection, name, steps)
    } finally {
      await sql`reset lock_timeout`.execute(connection)
      await sql`select pg_advisory_unlock(${sql.lit(MIGRATION_LOCK)})`.execute(connection)
    }
  })

/** Kysely asks for some of what a pool of `pg` is; ours has just that. */
function asKyselyWants(pool: Pool): PostgresPool {
  return { ...pool, options: {} } as unknown as PostgresPool // its client types also know cursors, which are not used here
}
