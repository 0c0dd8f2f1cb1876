import { readFile } from 'node:fs/promises'
import { Fault } from '@penstock/kernel/result.ts'
import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { createConnectionLanes } from '../shared/connection-lanes.ts'
import { toPostgresFault, isOutdatedPlan, isServerAnswer } from './faults.ts'
import { registerPoolMetrics } from './pool-metrics.ts'

export type PostgresSettings = {
  /** `postgres://user@host:5432/database`; TLS by `sslmode`, `sslrootcert`, `sslcert` and `sslkey` as in libpq. */
  readonly url: string
  /** Path of a file with the password. Every new connection reads it, so that the password can change at any time. */
  readonly passwordFile?: string
  /** Name of this process in the session list of the server (`application_name`). */
  readonly application?: string
  /** Purpose of the connections, as a label in metrics. */
  readonly purpose?: string
  /** Maximum number of connections. */
  readonly connections?: number
  /** Timeout of a statement, including its wait for locks. */
  readonly statementTimeoutMs?: number
  readonly connectTimeoutMs?: number
}

const CONNECTIONS = 8
/** Connections that low-priority work leaves to other work. */
const CONNECTIONS_FOR_OTHER_WORK = 2
const STATEMENT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000
/** Extra time in ms of the client's timeout. The server ends a slow statement first; the client ends it if the server hangs. */
const NO_ANSWER_GRACE_MS = 2000

export type PostgresConnection = {
  query<Row extends pg.QueryResultRow>(query: string | pg.QueryConfig, values?: readonly unknown[]): Promise<pg.QueryResult<Row>>
  /** Returns the connection to the pool. The pool does not reuse it after an error that leaves its state in doubt. */
  release(destroy?: boolean): void
}

export type ConnectionPool = Pick<PostgresConnection, 'query'> & {
  /** One connection for several statements. */
  connect(): Promise<PostgresConnection>
  end(): Promise<void>
}

/**
 * Configuration of every connection. Transactions are read committed: a statement after a lock must see all commits before the
 * lock.
 */
export function clientConfig(settings: PostgresSettings): pg.ClientConfig {
  const { url, passwordFile, application = 'penstock' } = settings
  const statementTimeoutMs = settings.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const config = parseIntoClientConfig(url)
  return {
    ...config,
    application_name: application,
    ...(passwordFile !== undefined && { password: async () => (await readFile(passwordFile, 'utf8')).trim() }),
    options: [config.options, '-c default_transaction_isolation=read\\ committed'].filter(Boolean).join(' '),
    keepAlive: true,
    connectionTimeoutMillis: settings.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutMs,
    // A process that is stopped inside a transaction must not keep its locks.
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + NO_ANSWER_GRACE_MS,
  }
}

/**
 * Opens connections on demand. Low-priority work leaves some of them to other work. Errors that may pass are Faults, and no error
 * ends the process.
 */
export function openConnectionPool(settings: PostgresSettings, extras: Pick<pg.PoolConfig, 'types'> = {}): ConnectionPool {
  const max = settings.connections ?? CONNECTIONS
  const pool = new pg.Pool({ ...clientConfig(settings), max, ...extras })
  const connectTimeoutMs = settings.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const lanes = createConnectionLanes(Math.max(1, max - CONNECTIONS_FOR_OTHER_WORK), connectTimeoutMs)
  const unregister = registerPoolMetrics(settings.purpose ?? 'other', pool)
  // A connection that is lost between two statements emits an error, which ends the process if it has no listener.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => void client.on('error', () => undefined))
  const connect = async (): Promise<PostgresConnection> => {
    const leave = await lanes.enter()
    try {
      return guardConnection(await pool.connect(), leave)
    } catch (error) {
      leave()
      throw toPostgresFault(error)
    }
  }
  return {
    connect,
    async query(query, values) {
      const connection = await connect()
      try {
        return await connection.query(query, values)
      } finally {
        connection.release()
      }
    },
    async end() {
      unregister()
      await pool.end()
    },
  }
}

/**
 * Converts the errors of a connection. After a timeout or a loss the connection refuses every query, even `rollback`, and is
 * destroyed on release. Otherwise a late answer could be taken for the answer to the next query.
 */
function guardConnection(client: pg.PoolClient, onReleased: () => void): PostgresConnection {
  let broken: Fault | undefined
  return {
    async query<Row extends pg.QueryResultRow>(query: string | pg.QueryConfig, values?: readonly unknown[]) {
      if (broken) throw broken
      try {
        return await client.query<Row>(query, values && [...values])
      } catch (error) {
        const fault = toPostgresFault(error)
        if (fault instanceof Fault && (!isServerAnswer(error) || isOutdatedPlan(error))) broken = fault
        throw fault
      }
    },
    release(destroy) {
      client.release(destroy === true || broken !== undefined)
      onReleased()
    },
  }
}
