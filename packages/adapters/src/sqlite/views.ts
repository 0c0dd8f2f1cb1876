import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Views } from '@penstock/ports/views.ts'
import { type Driver, Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import { createConnectionLanes } from '../shared/connection-lanes.ts'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import { migrate } from '../sql/migrate.ts'
import { startCheckpointing } from './checkpoint.ts'
import { withSqliteFaults } from './faults.ts'

const MAX_STATEMENTS = 500

export type ViewsOptions = {
  /** Flushes every commit, for tables that cannot be rebuilt from the facts (records). */
  readonly durable?: boolean
}

/**
 * Opens read models in a separate file. Without `durable` a commit is not flushed (synchronous=NORMAL), which is many times
 * cheaper. After a power failure the file is intact but may be slightly old. Rows and progress share transactions, so views catch
 * up from the facts. Tests use ':memory:'.
 */
export function openViews(path: string, { durable = false }: ViewsOptions = {}): Views {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = ${durable ? 'full' : 'normal'};
    pragma wal_autocheckpoint = 0;
    pragma cache_size = -32768;
    pragma temp_store = memory;
  `)
  const checkpoints = path === ':memory:' ? undefined : startCheckpointing(path, database, { preallocates: false })
  const db = new Kysely<object>({
    dialect: new LanedDialect({ database: toKyselyDatabase(database, () => checkpoints?.onCommit()) }),
  })
  return {
    db,
    migrate: (name, steps) => migrate(db, name, steps),
    async close() {
      await checkpoints?.close()
      await db.destroy()
    },
  }
}

/** Kysely has no lock of its own, because the driver gives its connection to one caller at a time. */
class SerialisedAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/**
 * Gives the one connection to the callers in order. At most one low-priority caller uses it or waits for it, so another caller
 * waits for at most one of them.
 */
class LanedDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new SerialisedAdapter()
  }
  override createDriver(): Driver {
    const driver = super.createDriver()
    const lanes = createConnectionLanes(1)
    const place = createSemaphore(1)
    let leave: (() => void) | undefined
    return {
      init: () => driver.init(),
      async acquireConnection() {
        const leaveLane = await lanes.enter()
        if (!place.tryAcquire()) await place.acquire()
        leave = () => {
          place.release()
          leaveLane()
        }
        return driver.acquireConnection().catch((error: unknown) => {
          leave?.()
          throw error
        })
      },
      async releaseConnection(connection) {
        const leaveBoth = leave
        await driver.releaseConnection(connection)
        leaveBoth?.()
      },
      beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
      commitTransaction: (connection) => driver.commitTransaction(connection),
      rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
      destroy: () => driver.destroy(),
    }
  }
}

function toKyselyDatabase(database: DatabaseSync, onCommit: () => void): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  const onRun = (): void => {
    if (!database.isTransaction) onCommit()
  }
  return {
    close: () => {
      if (database.isOpen) database.close()
    },
    prepare(sql) {
      const cached = statements.get(sql)
      if (cached) return cached
      const prepared = withSqliteFaults(() => database.prepare(sql))
      const statement = toKyselyStatement(prepared, onRun, () => sql !== 'rollback' || database.isTransaction)
      // Statements of changing shape (lists, filters) must not fill the memory, so the whole cache is cleared.
      if (statements.size >= MAX_STATEMENTS) statements.clear()
      statements.set(sql, statement)
      return statement
    },
  }
}

type Parameters = ParametersOf<StatementSync['all']>
type ParametersOf<F> = F extends (...parameters: infer P) => unknown ? P : never

function toKyselyStatement(statement: StatementSync, onRun: () => void, isNeeded: () => boolean): SqliteStatement {
  // Kysely types parameters as unknown. node:sqlite refuses a value that it cannot bind.
  const bound = (parameters: readonly unknown[]) => parameters as Parameters
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => withSqliteFaults(() => statement.all(...bound(parameters))),
    run(parameters) {
      // After a full disk SQLite has rolled back by itself, and the error of a second rollback would hide the reason.
      if (!isNeeded()) return { changes: 0, lastInsertRowid: 0 }
      const result = withSqliteFaults(() => statement.run(...bound(parameters)))
      onRun()
      return result
    },
    iterate: (parameters) => statement.iterate(...bound(parameters)),
  }
}
