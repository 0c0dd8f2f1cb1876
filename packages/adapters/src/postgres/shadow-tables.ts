import type { ShadowTables, SwappedNames } from '@penstock/ports/shadow-tables.ts'
import { sqlProgress } from '../sql/progress.ts'
import { type PostgresConnection, openConnectionPool, type PostgresSettings } from './pool.ts'
import { SHADOW_SCHEMA } from './read-models.ts'
import { openPostgresViews } from './views.ts'

/** An arbitrary number that no other advisory lock of the database uses. */
const REBUILD_LOCK = 7_368_632_642
/** A swap waits for running writers, and copies the progress of every stream. */
const SWAP_TIMEOUT_MS = 600_000

/** Opens tables in a separate schema, which the database owner creates and moves. One process at a time may open them. */
export async function openPostgresShadowTables(settings: PostgresSettings): Promise<ShadowTables> {
  const patientSettings = { ...settings, statementTimeoutMs: SWAP_TIMEOUT_MS }
  const pool = openConnectionPool({ ...patientSettings, connections: 1 })
  const connection = await pool.connect()
  const release = async (): Promise<void> => {
    // The connection is ended, not returned, since the lock ends with the session.
    connection.release(true)
    await pool.end()
  }
  try {
    const { rows } = await connection.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [REBUILD_LOCK])
    if (rows[0]?.mine !== true) throw new Error('Another process is rebuilding the read models; wait until it has finished.')
    await connection.query('select open_read_models()')
    const views = openPostgresViews({ ...patientSettings, url: withSearchPath(settings.url), schema: 'check' })
    return {
      views,
      progress: await sqlProgress(views),
      swap: (swap, catchUp) => swapTables(connection, swap, catchUp),
      async drop() {
        await views.close()
        try {
          await connection.query('select drop_read_models()')
          // The server takes a moment to notice the end of a session. The unlock spares the next process that wait.
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

function withSearchPath(url: string): string {
  const other = new URL(url)
  other.searchParams.set('options', `-c search_path=${SHADOW_SCHEMA}`)
  return other.href
}

async function swapTables(
  connection: PostgresConnection,
  { tables, consumers, positions }: SwappedNames,
  catchUp: () => Promise<void>,
): Promise<void> {
  await connection.query('begin')
  try {
    await connection.query('set local idle_in_transaction_session_timeout = 0')
    // A writer of rows writes its progress first, so no writer holds a table lock while it waits for this lock.
    await connection.query('lock table progress_streams in exclusive mode')
    await catchUp()
    await connection.query('select exchange_read_models($1)', [tables])
    for (const [table, names] of [
      ['progress_streams', consumers],
      ['progress', positions],
    ] as const) {
      await connection.query(`delete from ${table} where consumer = any($1)`, [names])
      await connection.query(`insert into ${table} select * from ${SHADOW_SCHEMA}.${table} where consumer = any($1)`, [names])
    }
    await connection.query('commit')
  } catch (error) {
    await connection.query('rollback').catch(() => undefined)
    throw error
  }
}
