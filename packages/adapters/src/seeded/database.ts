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
import type { CallOptions, Mortal } from './mortal.ts'
import { type Turns, turns } from './turns.ts'

export type SeededDatabaseOptions = {
  /** A transaction that is open for so long is rolled back by the server: one client that stands still must not stop all. */
  readonly longestTransactionMs?: number
}

/**
 * A database server in memory. Transactions take turns, so give a service one of its own; a dead client's is rolled back.
 */
export type SeededDatabase = {
  of(process: Mortal): Views
  /** Reads what is committed, past every fault; empty while there is no such table. */
  rows<Row>(sql: string, ...values: readonly SQLInputValue[]): readonly Row[]
  close(): void
}

type Server = {
  readonly database: DatabaseSync
  readonly turns: Turns
  readonly disk: Disk
  readonly run: Run
  readonly longestTransactionMs: number
  inTransaction: boolean
}
type Run = (query: CompiledQuery) => QueryResult<unknown>

export function seededDatabase(disk: Disk, { longestTransactionMs = 5000 }: SeededDatabaseOptions = {}): SeededDatabase {
  const database = new DatabaseSync(':memory:')
  const server: Server = { database, turns: turns(), disk, run: runner(database), inTransaction: false, longestTransactionMs }
  return {
    of: (process) => viewsOf(server, process),
    rows: <Row>(sql: string, ...values: readonly SQLInputValue[]) => {
      if (server.inTransaction) throw new Error("a transaction is open: what is not committed is nobody else's to see")
      const found: readonly object[] = database.prepare(sql).all(...values)
      return found as readonly Row[] // a row is what its SQL says
    },
    close: () => database.close(),
  }
}

function viewsOf(server: Server, process: Mortal): Views {
  const db = new Kysely<object>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => driver(server, process),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  return { db, migrate: (name, steps) => migrate(db, name, steps), close: () => db.destroy() }
}

/** 'broken': a statement of it failed, so it can only be rolled back. 'over': the server has ended it. */
type Transaction = { state: 'open' | 'broken' | 'over'; readonly giveTurn: () => void; readonly stopClock: () => void }
type Connection = DatabaseConnection & { transaction: Transaction | undefined }

function driver(server: Server, process: Mortal): Driver {
  // Only this driver makes connections, so each is one of its own.
  const own = (connection: DatabaseConnection): Connection => connection as Connection
  return {
    init: async () => undefined,
    acquireConnection: async () => newConnection(server, process),
    beginTransaction: (connection) =>
      process.call('sql.begin', () => begin(server, process, own(connection)), { fault: 'queryFault' }),
    commitTransaction: (connection) =>
      process.call('sql.commit', () => commit(server, process, own(connection)), { unknown: 'commitUnknown' }),
    rollbackTransaction: (connection) => process.call('sql.rollback', () => end(server, own(connection), 'rollback')),
    releaseConnection: async () => undefined,
    destroy: async () => undefined,
  }
}

function newConnection(server: Server, process: Mortal): Connection {
  const connection: Connection = {
    transaction: undefined,
    async executeQuery<Row>(query: CompiledQuery) {
      const result = await (connection.transaction
        ? inside(server, process, connection.transaction, query)
        : alone(server, process, query))
      return result as QueryResult<Row> // the compiler knows what its query answers
    },
    streamQuery: () => {
      throw new Fault('the simulated database streams nothing')
    },
  }
  return connection
}

async function begin(server: Server, process: Mortal, connection: Connection): Promise<void> {
  let hasBegun = false
  const rollBack = (): void => {
    if (!hasBegun) return
    process.faults.count('transaction of a dead process')
    close(server, 'rollback')
    stopClock()
  }
  const giveTurn = await server.turns.take(process, rollBack)
  hasBegun = true
  server.database.exec('begin')
  server.inTransaction = true
  const lapse = (): void => {
    process.faults.count('transaction that took too long')
    close(server, 'rollback')
    transaction.state = 'over'
    giveTurn()
  }
  const stopClock = process.world.later(server.longestTransactionMs, lapse, 'the database ends a transaction')
  const transaction: Transaction = { state: 'open', giveTurn, stopClock }
  connection.transaction = transaction
}

/** A commit that fails leaves nothing behind; so does one of a transaction in which a statement failed. */
function commit(server: Server, process: Mortal, connection: Connection): void {
  const isOpen = connection.transaction?.state === 'open'
  try {
    server.disk.checkSpace(process)
    if (!isOpen || process.strikes('commitFault')) throw new Fault('sql.commit: the transaction was rolled back')
  } catch (error) {
    end(server, connection, 'rollback')
    throw error
  }
  end(server, connection, 'commit')
}

/** Nothing happens where the server has ended it already. */
function end(server: Server, connection: Connection, how: 'commit' | 'rollback'): void {
  const { transaction } = connection
  connection.transaction = undefined
  if (!transaction || transaction.state === 'over') return
  close(server, how)
  transaction.stopClock()
  transaction.giveTurn()
}

function close(server: Server, how: 'commit' | 'rollback'): void {
  server.database.exec(how)
  server.inTransaction = false
}

function inside(server: Server, process: Mortal, transaction: Transaction, query: CompiledQuery): Promise<QueryResult<unknown>> {
  return process.call('sql.statement', () => {
    if (transaction.state === 'open' && process.strikes('queryFault')) transaction.state = 'broken'
    if (transaction.state !== 'open') throw new Fault(`sql.statement: the transaction is ${transaction.state}`)
    try {
      return server.run(query)
    } catch (error) {
      // As PostgreSQL has it: after an error nothing but a rollback.
      transaction.state = 'broken'
      throw error
    }
  })
}

/** A statement by itself is a transaction: nobody sees it in part, its answer may be lost, and it may wait for long. */
function alone(server: Server, process: Mortal, query: CompiledQuery): Promise<QueryResult<unknown>> {
  const isRead = query.query.kind === 'SelectQueryNode'
  const run = async (): Promise<QueryResult<unknown>> => {
    const giveTurn = await server.turns.take(process, () => undefined)
    try {
      if (!isRead) server.disk.checkSpace(process)
      return server.run(query)
    } finally {
      giveTurn()
    }
  }
  return process.call('sql.statement', run, isRead ? STATEMENT : { ...STATEMENT, late: 'statementLate' })
}

const STATEMENT = { fault: 'queryFault', unknown: 'commitUnknown' } as const satisfies CallOptions

function runner(database: DatabaseSync): Run {
  const statements = new Map<string, StatementSync>()
  return ({ sql, parameters }) => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    const values = parameters as SQLInputValue[] // what node:sqlite cannot bind, it refuses by itself
    if (statement.columns().length > 0) return { rows: statement.all(...values) }
    const { changes, lastInsertRowid } = statement.run(...values)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
