import { readFile } from 'node:fs/promises'
import { Fault } from '@penstock/kernel/result.ts'
import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { asFault, isAnswer } from './faults.ts'
import { showPool } from './pool-metrics.ts'

export type PostgresSettings = {
  /** `postgres://user@host:5432/database`; TLS by `sslmode`, `sslrootcert`, `sslcert` and `sslkey` as in libpq. */
  readonly url: string
  /** Read at every new connection, so that a password can be changed under a running process. */
  readonly passwordFile?: string
  /** What the server's list of sessions calls this process. */
  readonly application?: string
  /** What the connections are for, as metrics name it. */
  readonly purpose?: string
  /** Most connections at once. */
  readonly connections?: number
  /** Longest that a statement may take, waiting for locks included. */
  readonly statementTimeoutMs?: number
  readonly connectTimeoutMs?: number
}

const CONNECTIONS = 8
const STATEMENT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000
/** The server has the first word about a slow statement; ours is for a server that says nothing. */
const SILENCE_MS = 2000

export type Connection = {
  query<Row extends pg.QueryResultRow>(query: string | pg.QueryConfig, values?: readonly unknown[]): Promise<pg.QueryResult<Row>>
  /** Gives it back. It is not used again after an error that leaves its state in doubt. */
  release(destroy?: boolean): void
}

export type Pool = Pick<Connection, 'query'> & {
  /** One connection for several statements. */
  connect(): Promise<Connection>
  end(): Promise<void>
}

/**
 * What every connection is made with. Transactions read committed: statements that come after a lock must see
 * what was committed before it.
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
    // A process that is stopped in the middle of a transaction must not hold its locks for others.
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + SILENCE_MS,
  }
}

/** Connections on demand; errors that may pass are Faults, and none of them ends the process. */
export function openPool(settings: PostgresSettings, extras: Pick<pg.PoolConfig, 'types'> = {}): Pool {
  const pool = new pg.Pool({ ...clientConfig(settings), max: settings.connections ?? CONNECTIONS, ...extras })
  const hide = showPool(settings.purpose ?? 'other', pool)
  // Between two statements a lost connection shows as an event, which would end the process if nobody listened.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => void client.on('error', () => undefined))
  const connect = async (): Promise<Connection> => {
    try {
      return guarded(await pool.connect())
    } catch (error) {
      throw asFault(error)
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
      hide()
      await pool.end()
    },
  }
}

/**
 * A connection with our errors. After a silence or a loss it answers nothing any more, not even `rollback`, and is
 * thrown away when it is released: an answer that comes late must not meet the next question.
 */
function guarded(client: pg.PoolClient): Connection {
  let broken: Fault | undefined
  return {
    async query<Row extends pg.QueryResultRow>(query: string | pg.QueryConfig, values?: readonly unknown[]) {
      if (broken) throw broken
      try {
        return await client.query<Row>(query, values && [...values])
      } catch (error) {
        const fault = asFault(error)
        if (fault instanceof Fault && !isAnswer(error)) broken = fault
        throw fault
      }
    },
    release: (destroy) => client.release(destroy === true || broken !== undefined),
  }
}
