import type { Beside, Exchanged } from '@penstock/ports/beside.ts'
import { sqlProgress } from '../sql/progress.ts'
import { type Connection, openPool, type PostgresSettings } from './pool.ts'
import { BESIDE } from './read-models.ts'
import { openPostgresViews } from './views.ts'

const SCHEMA = BESIDE
/** Any number will do that nobody else uses for a lock of the database. */
const REBUILD_LOCK = 7_368_632_642
/** An exchange waits for whoever writes just then, and copies the progress of every stream. */
const LONGEST_STATEMENT_MS = 600_000

/** Tables in a schema of their own, which are moved when they are exchanged. One process at a time has it. */
export async function postgresBeside(settings: PostgresSettings): Promise<Beside> {
  const patient = { ...settings, statementTimeoutMs: LONGEST_STATEMENT_MS }
  const pool = openPool({ ...patient, connections: 1 })
  const connection = await pool.connect()
  const release = async (): Promise<void> => {
    // Ended, not given back: the lock ends with the session.
    connection.release(true)
    await pool.end()
  }
  try {
    const { rows } = await connection.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [REBUILD_LOCK])
    if (rows[0]?.mine !== true) throw new Error('Read models are being rebuilt by another process; wait until it is done.')
    const mayMake = await mayMakeSchemas(connection)
    await (mayMake
      ? connection.query(`drop schema if exists ${SCHEMA} cascade; create schema ${SCHEMA}`)
      : connection.query('select open_read_models()'))
    const views = openPostgresViews({ ...patient, url: inSchema(settings.url), schema: 'migrate' })
    return {
      views,
      progress: await sqlProgress(views),
      exchange: (what, last) => exchange(connection, mayMake, what, last),
      async drop() {
        await views.close()
        try {
          await connection.query(mayMake ? `drop schema if exists ${SCHEMA} cascade` : 'select drop_read_models()')
          // The server takes a moment to see that a session has ended, and whoever is next need not wait for it.
          await connection.query('select pg_advisory_unlock($1)', [REBUILD_LOCK])
        } finally {
          await release()
        }
      },
    }
  } catch (error) {
    await release()
    throw error
  }
}

function inSchema(url: string): string {
  const other = new URL(url)
  other.searchParams.set('options', `-c search_path=${SCHEMA}`)
  return other.href
}

/** Else the service has a role of its own, and calls what was made for it. */
async function mayMakeSchemas(connection: Connection): Promise<boolean> {
  const asked = `select has_database_privilege(current_database(), 'create') as may`
  return (await connection.query<{ may: boolean }>(asked)).rows[0]?.may === true
}

async function exchange(
  connection: Connection,
  mayMake: boolean,
  { tables, consumers, positions }: Exchanged,
  last: () => Promise<void>,
): Promise<void> {
  await connection.query('begin')
  try {
    await connection.query('set local idle_in_transaction_session_timeout = 0')
    // Whoever writes rows writes its progress first, so nobody holds a table's lock and waits for this one.
    await connection.query('lock table progress_streams in exclusive mode')
    await last()
    if (mayMake) await move(connection, tables)
    else await connection.query('select exchange_read_models($1)', [tables])
    for (const [table, names] of [
      ['progress_streams', consumers],
      ['progress', positions],
    ] as const) {
      await connection.query(`delete from ${table} where consumer = any($1)`, [names])
      await connection.query(`insert into ${table} select * from ${SCHEMA}.${table} where consumer = any($1)`, [names])
    }
    await connection.query('commit')
  } catch (error) {
    await connection.query('rollback').catch(() => undefined)
    throw error
  }
}

async function move(connection: Connection, tables: readonly string[]): Promise<void> {
  const { rows } = await connection.query<{ schema: string }>('select current_schema() as schema')
  for (const table of tables) {
    await connection.query(`drop table ${table}`)
    await connection.query(`alter table ${SCHEMA}.${table} set schema ${rows[0]?.schema ?? 'public'}`)
  }
}
