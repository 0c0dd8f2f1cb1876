import type { Migration, Views } from '@penstock/ports/views.ts'
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import pg from 'pg'
import { checkMigrated, migrate } from '../sql/migrate.ts'
import { checkDurable } from './durable.ts'
import { openConnectionPool, type ConnectionPool, type PostgresConnection, type PostgresSettings } from './pool.ts'

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
  const prepare = createPreparer()
  const connect = async (): Promise<PostgresConnection> => {
    const connection = await pool.connect()
    return {
      query: (text, values) => connection.query(typeof text === 'string' && values?.length ? prepare(text) : text, values),
      release: (destroy) => connection.release(destroy),
    }
  }
  return { ...pool, connect, options: {} } as unknown as PostgresPool // its client type also has cursors, which are not used here
}

/** The uses of a statement after which it is prepared. Statements of rare shapes must not fill the memory of the server. */
const PREPARED_AFTER = 5
const MAX_STATEMENTS = 200
/** Statements whose uses are counted. */
const MAX_COUNTED = 2000

/** Returns a function that names frequent statements, so that each connection parses and plans them once. */
export function createPreparer(): (text: string) => string | pg.QueryConfig {
  const names = new Map<string, string>()
  const uses = new Map<string, number>()
  return (text) => {
    const name = names.get(text)
    if (name !== undefined) return { name, text }
    if (names.size >= MAX_STATEMENTS) return text
    const count = (uses.get(text) ?? 0) + 1
    if (count <= PREPARED_AFTER) {
      if (uses.size >= MAX_COUNTED) uses.clear()
      uses.set(text, count)
      return text
    }
    uses.delete(text)
    names.set(text, `views ${names.size}`)
    return text
  }
}
