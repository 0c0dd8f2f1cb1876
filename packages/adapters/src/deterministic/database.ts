import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Fault } from '@penstock/kernel/result.ts'
import type { Views } from '@penstock/ports/views.ts'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { migrate } from '../sql/migrate.ts'
import type { Disk } from './disk.ts'
import type { CallOptions, SimulatedProcess } from './faults/crash-injection.ts'
import { type Mutex, createMutex } from './mutex.ts'

export type DeterministicDatabaseOptions = {
  /** Time in ms after which the server rolls back an open transaction, so that a frozen client does not block other clients. */
  readonly longestTransactionMs?: number
}

/**
 * A database server in memory, one per service. It runs one transaction at a time, and rolls back the transactions of crashed
 * clients.
 */
export type DeterministicDatabase = {
  connect(process: SimulatedProcess): Views
  /** Reads committed rows without latency and faults. */
  rows<Row>(sql: string, ...values: readonly SQLInputValue[]): readonly Row[]
  close(): void
}

type Server = {
  readonly database: DatabaseSync
  readonly mutex: Mutex
  readonly disk: Disk
  readonly run: QueryRunner
  readonly longestTransactionMs: number
  inTransaction: boolean
}
type QueryRunner = (query: CompiledQuery) => QueryResult<unknown>

export function deterministicDatabase(
  disk: Disk,
  { longestTransactionMs = 5000 }: DeterministicDatabaseOptions = {},
): DeterministicDatabase {
  const database = new DatabaseSync(':memory:')
  const server: Server = {
    database,
    mutex: createMutex(),
    disk,
    run: createQueryRunner(database),
    inTransaction: false,
    longestTransactionMs,
  }
  return {
    connect: (process) => viewsForProcess(server, process),
    rows: <Row>(sql: string, ...values: readonly SQLInputValue[]) => {
      if (server.inTransaction) throw new Error('a transaction is open, so the rows would not be committed ones')
      const found: readonly object[] = database.prepare(sql).all(...values)
      return found as readonly Row[] // the SQL determines the type of a row
    },
    close: () => database.close(),
  }
}

function viewsForProcess(server: Server, process: SimulatedProcess): Views {
  const db = new Kysely<object>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => createDriver(server, process),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  return { db, migrate: (name, steps) => migrate(db, name, steps), close: () => db.destroy() }
}

/** 'broken': a statement failed, so only a rollback is possible. 'over': the server has ended the transaction. */
type Transaction = { state: 'open' | 'broken' | 'over'; readonly releaseMutex: () => void; readonly cancelTimeout: () => void }
type Connection = DatabaseConnection & { transaction: Transaction | undefined }

function createDriver(server: Server, process: SimulatedProcess): Driver {
  // Only this driver creates connections, so each of them has this type.
  const asConnection = (connection: DatabaseConnection): Connection => connection as Connection
  return {
    init: async () => undefined,
    acquireConnection: async () => createConnection(server, process),
    beginTransaction: (connection) =>
      process.call('sql.begin', () => beginTransaction(server, process, asConnection(connection)), { fault: 'queryFault' }),
    commitTransaction: (connection) =>
      process.call('sql.commit', () => commitTransaction(server, process, asConnection(connection)), {
        answerLost: 'commitUnknown',
      }),
    rollbackTransaction: (connection) =>
      process.call('sql.rollback', () => endTransaction(server, asConnection(connection), 'rollback')),
    releaseConnection: async () => undefined,
    destroy: async () => undefined,
  }
}

function createConnection(server: Server, process: SimulatedProcess): Connection {
  const connection: Connection = {
    transaction: undefined,
    async executeQuery<Row>(query: CompiledQuery) {
      const result = await (connection.transaction
        ? runInTransaction(server, process, connection.transaction, query)
        : runStandalone(server, process, query))
      return result as QueryResult<Row> // the query determines the type of its rows
    },
    streamQuery: () => {
      throw new Fault('the simulated database streams nothing')
    },
  }
  return connection
}

async function beginTransaction(server: Server, process: SimulatedProcess, connection: Connection): Promise<void> {
  let hasBegun = false
  const rollBack = (): void => {
    if (!hasBegun) return
    process.faults.count('transaction of a dead process')
    closeTransaction(server, 'rollback')
    cancelTimeout()
  }
  const releaseMutex = await server.mutex.acquire(process, rollBack)
  hasBegun = true
  server.database.exec('begin')
  server.inTransaction = true
  const expire = (): void => {
    process.faults.count('transaction that took too long')
    closeTransaction(server, 'rollback')
    transaction.state = 'over'
    releaseMutex()
  }
  const cancelTimeout = process.schedule.later(server.longestTransactionMs, expire, 'the database ends a transaction')
  const transaction: Transaction = { state: 'open', releaseMutex, cancelTimeout }
  connection.transaction = transaction
}

/** A failed commit rolls the transaction back. The commit of a transaction with a failed statement fails too. */
function commitTransaction(server: Server, process: SimulatedProcess, connection: Connection): void {
  const isOpen = connection.transaction?.state === 'open'
  try {
    server.disk.checkSpace(process)
    if (!isOpen || process.isInjected('commitFault')) throw new Fault('sql.commit: the transaction was rolled back')
  } catch (error) {
    endTransaction(server, connection, 'rollback')
    throw error
  }
  endTransaction(server, connection, 'commit')
}

/** Does nothing if the server has already ended the transaction. */
function endTransaction(server: Server, connection: Connection, outcome: 'commit' | 'rollback'): void {
  const { transaction } = connection
  connection.transaction = undefined
  if (!transaction || transaction.state === 'over') return
  closeTransaction(server, outcome)
  transaction.cancelTimeout()
  transaction.releaseMutex()
}

function closeTransaction(server: Server, outcome: 'commit' | 'rollback'): void {
  server.database.exec(outcome)
  server.inTransaction = false
}

function runInTransaction(
  server: Server,
  process: SimulatedProcess,
  transaction: Transaction,
  query: CompiledQuery,
): Promise<QueryResult<unknown>> {
  return process.call('sql.statement', () => {
    if (transaction.state === 'open' && process.isInjected('queryFault')) transaction.state = 'broken'
    if (transaction.state !== 'open') throw new Fault(`sql.statement: the transaction is ${transaction.state}`)
    try {
      return server.run(query)
    } catch (error) {
      // As in PostgreSQL, only a rollback may follow an error.
      transaction.state = 'broken'
      throw error
    }
  })
}

/** Runs a statement outside a transaction. The statement is atomic, its answer may be lost, and it may wait for a long time. */
function runStandalone(server: Server, process: SimulatedProcess, query: CompiledQuery): Promise<QueryResult<unknown>> {
  const isRead = query.query.kind === 'SelectQueryNode'
  const run = async (): Promise<QueryResult<unknown>> => {
    const releaseMutex = await server.mutex.acquire(process, () => undefined)
    try {
      if (!isRead) server.disk.checkSpace(process)
      return server.run(query)
    } finally {
      releaseMutex()
    }
  }
  return process.call('sql.statement', run, isRead ? STATEMENT_FAULTS : { ...STATEMENT_FAULTS, late: 'statementLate' })
}

const STATEMENT_FAULTS = { fault: 'queryFault', answerLost: 'commitUnknown' } as const satisfies CallOptions

function createQueryRunner(database: DatabaseSync): QueryRunner {
  const statements = new Map<string, StatementSync>()
  return ({ sql, parameters }) => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    const values = parameters as SQLInputValue[] // node:sqlite refuses a value that it cannot bind
    if (statement.columns().length > 0) return { rows: statement.all(...values) }
    const { changes, lastInsertRowid } = statement.run(...values)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
