import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { createSimnetTables } from './schema.ts'
import { toSqliteFault, withSqliteFaults } from '../sqlite/faults.ts'

/** The tables and notifications of the network. Integers are returned as bigints. */
export type SimnetStore = {
  readonly clock: Clock
  /** Unguessable bytes in hex. */
  random(bytes: number): string
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[]
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined
  /** @returns the number of changed rows */
  run(sql: string, ...values: SQLInputValue[]): number
  /** Runs an operation in a transaction; calls may be nested. A crash during the operation changes no table. */
  write<T>(operation: () => T): T
  /** A text that changes with every change of the tables. */
  version(): string
  /** Notifies listeners of this topic, once the current transaction is committed. */
  notify(topic: string): void
  /**
   * Yields the result of `read` at once and after each notification, unless it is undefined. Ends when the signal aborts or the
   * network closes.
   */
  watch<T>(topics: string | readonly string[], signal: AbortSignal, read: () => T | undefined): AsyncGenerator<T>
  /** Fires when the network is closed. */
  readonly ended: AbortSignal
  close(): void
}

export type RandomBytes = (bytes: number) => Uint8Array

export function openSimnetStore(path: string, clock: Clock, random: RandomBytes = randomBytes): SimnetStore {
  // The timeout covers a reader that locks the file while it recovers the file after a crash.
  const db = new DatabaseSync(path, { timeout: 5000 })
  // With NORMAL a crash of the process loses no commit. Only a power failure could lose commits, and it also ends the market.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384')
  createSimnetTables(db)
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  const statements = new Map<string, StatementSync>()
  const emitter = new EventEmitter().setMaxListeners(0)
  const pendingTopics = new Set<string>()
  const end = new AbortController()
  let depth = 0

  const assertOpen = (): void => {
    if (end.signal.aborted) throw new Fault('the simulated network is closed')
  }

  const prepare = (sql: string): StatementSync => {
    assertOpen()
    const cached = statements.get(sql)
    if (cached) return cached
    const statement = db.prepare(sql)
    statement.setReadBigInts(true)
    statements.set(sql, statement)
    return statement
  }

  const write = <T>(operation: () => T): T => {
    if (depth > 0) return operation()
    assertOpen()
    withSqliteFaults(() => begin.run())
    depth++
    try {
      const result = operation()
      commit.run()
      return result
    } catch (error) {
      pendingTopics.clear()
      // After a full disk SQLite has rolled back by itself.
      if (db.isTransaction) db.exec('ROLLBACK')
      throw toSqliteFault(error)
    } finally {
      depth--
      const topics = [...pendingTopics]
      pendingTopics.clear()
      for (const topic of topics) emitter.emit(topic)
    }
  }

  return {
    clock,
    random: (bytes) => Buffer.from(random(bytes)).toString('hex'),
    // The SQL of each caller determines the shape of its rows.
    all: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).all(...values) as Row[],
    get: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).get(...values) as Row | undefined,
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    write,
    version: createVersionReader(db),
    notify: (topic) => void pendingTopics.add(topic),
    watch: (topics, signal, read) => watch(emitter, [topics].flat(), AbortSignal.any([signal, end.signal]), read),
    ended: end.signal,
    close: () => {
      if (end.signal.aborted) return
      end.abort()
      db.close()
    },
  }
}

/** Combines the changes of this connection with the changes of other connections. */
function createVersionReader(db: DatabaseSync): () => string {
  const statements = [db.prepare('SELECT total_changes() AS count'), db.prepare('PRAGMA data_version')]
  return () => statements.map((statement) => Object.values(statement.get() ?? {}).join()).join(' ')
}

async function* watch<T>(
  emitter: EventEmitter,
  topics: readonly string[],
  signal: AbortSignal,
  read: () => T | undefined,
): AsyncGenerator<T> {
  let next = Promise.withResolvers<void>()
  const wake = (): void => next.resolve()
  for (const topic of topics) emitter.on(topic, wake)
  signal.addEventListener('abort', wake)
  try {
    while (!signal.aborted) {
      const value = read()
      if (value !== undefined) yield value
      await next.promise
      // The promise is renewed before the next read. So a notification while the consumer is busy causes another read.
      next = Promise.withResolvers<void>()
    }
  } finally {
    for (const topic of topics) emitter.off(topic, wake)
    signal.removeEventListener('abort', wake)
  }
}
