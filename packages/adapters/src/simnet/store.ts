import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { createTables } from './schema.ts'

/** The network's memory and its bell. Integers come out as bigints. */
export type Net = {
  readonly clock: Clock
  /** Unguessable bytes in hex. */
  random(bytes: number): string
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[]
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined
  /** @returns how many rows changed */
  run(sql: string, ...values: SQLInputValue[]): number
  /** Does all of it or nothing; may be nested. A process that is killed in between has done nothing. */
  write<T>(work: () => T): T
  /** Another text after every change of what is stored. */
  version(): string
  /** Tells whoever listens to this topic, once the transaction under way is committed. */
  touch(topic: string): void
  /** Yields what is read at once and whenever a topic was touched, if there is something; ends with the signal or the network. */
  watch<T>(topics: string | readonly string[], signal: AbortSignal, read: () => T | undefined): AsyncGenerator<T>
  /** Fires when the network is closed. */
  readonly ended: AbortSignal
  close(): void
}

export type Random = (bytes: number) => Uint8Array

export function openStore(path: string, clock: Clock, random: Random = randomBytes): Net {
  // Who reads the file while it is recovered after a kill is waited for.
  const db = new DatabaseSync(path, { timeout: 5000 })
  // NORMAL: a killed process loses nothing that was committed; only a power cut could, and then no market is running either.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384')
  createTables(db)
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  const statements = new Map<string, StatementSync>()
  const bell = new EventEmitter().setMaxListeners(0)
  const touched = new Set<string>()
  const end = new AbortController()
  let depth = 0

  const mustBeOpen = (): void => {
    if (end.signal.aborted) throw new Fault('the simulated network is closed')
  }

  const prepare = (sql: string): StatementSync => {
    mustBeOpen()
    const known = statements.get(sql)
    if (known) return known
    const statement = db.prepare(sql)
    statement.setReadBigInts(true)
    statements.set(sql, statement)
    return statement
  }

  const write = <T>(work: () => T): T => {
    if (depth > 0) return work()
    mustBeOpen()
    begin.run()
    depth++
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      touched.clear()
      db.exec('ROLLBACK')
      throw error
    } finally {
      depth--
      const topics = [...touched]
      touched.clear()
      for (const topic of topics) bell.emit(topic)
    }
  }

  return {
    clock,
    random: (bytes) => Buffer.from(random(bytes)).toString('hex'),
    // The shape of a row is what its own SQL says, two words to the left of the type's name.
    all: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).all(...values) as Row[],
    get: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).get(...values) as Row | undefined,
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    write,
    version: versionOf(db),
    touch: (topic) => void touched.add(topic),
    watch: (topics, signal, read) => watch(bell, [topics].flat(), AbortSignal.any([signal, end.signal]), read),
    ended: end.signal,
    close: () => {
      if (end.signal.aborted) return
      end.abort()
      db.close()
    },
  }
}

/** By what this connection has changed and what others have. */
function versionOf(db: DatabaseSync): () => string {
  const statements = [db.prepare('SELECT total_changes() AS count'), db.prepare('PRAGMA data_version')]
  return () => statements.map((statement) => Object.values(statement.get() ?? {}).join()).join(' ')
}

async function* watch<T>(
  bell: EventEmitter,
  topics: readonly string[],
  signal: AbortSignal,
  read: () => T | undefined,
): AsyncGenerator<T> {
  let next = Promise.withResolvers<void>()
  const ring = (): void => next.resolve()
  for (const topic of topics) bell.on(topic, ring)
  signal.addEventListener('abort', ring)
  try {
    while (!signal.aborted) {
      const now = read()
      if (now !== undefined) yield now
      await next.promise
      // Renewed before the next reading: what is rung while the listener is busy wakes it again.
      next = Promise.withResolvers<void>()
    }
  } finally {
    for (const topic of topics) bell.off(topic, ring)
    signal.removeEventListener('abort', ring)
  }
}
