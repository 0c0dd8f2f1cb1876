import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Views } from '@penstock/ports/views.ts'
import { Kysely, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import { migrate } from '../sql/migrate.ts'

const REMEMBERED_STATEMENTS = 500

export type ViewsOptions = {
  /** For tables that cannot be made again from the facts (records): every commit is flushed. */
  readonly durable?: boolean
}

/**
 * Read models in a file of their own. Without `durable` a commit is not flushed (synchronous=NORMAL), which is many times
 * cheaper; after a loss of power the file is whole but may be some moments old, and since the progress is in the same
 * transactions as the rows, views catch up from the facts. ':memory:' for tests.
 */
export function openViews(path: string, { durable = false }: ViewsOptions = {}): Views {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = ${durable ? 'full' : 'normal'};
    pragma cache_size = -32768;
    pragma temp_store = memory;
  `)
  const db = new Kysely<object>({ dialect: new SqliteDialect({ database: asKyselyWants(database) }) })
  return {
    db,
    migrate: (name, steps) => migrate(db, name, steps),
    close: () => db.destroy(),
  }
}

/** Kysely serialises transactions on this one connection by itself. */
function asKyselyWants(database: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    close: () => {
      if (database.isOpen) database.close()
    },
    prepare(sql) {
      const known = statements.get(sql)
      if (known) return known
      const statement = asStatement(database.prepare(sql))
      // Statements of changing shape (lists, filters) must not fill the memory: start over.
      if (statements.size >= REMEMBERED_STATEMENTS) statements.clear()
      statements.set(sql, statement)
      return statement
    },
  }
}

type Parameters = Parameters_<StatementSync['all']>
type Parameters_<F> = F extends (...parameters: infer P) => unknown ? P : never

function asStatement(statement: StatementSync): SqliteStatement {
  // Kysely types parameters as unknown; what node:sqlite cannot bind, it refuses by itself.
  const bound = (parameters: readonly unknown[]) => parameters as Parameters
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...bound(parameters)),
    run: (parameters) => statement.run(...bound(parameters)),
    iterate: (parameters) => statement.iterate(...bound(parameters)),
  }
}
