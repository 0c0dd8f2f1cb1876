import type { Kysely } from 'kysely'

/** One step of a schema's history. It is never changed once it was released; a mistake is mended by the next step. */
export type Migration = (db: Kysely<object>) => Promise<void>

/**
 * The tables that can be made again from the facts: read models, timers, progress, limits. Whoever owns tables says so
 * in types: `views.db.$extendTables<{ orders: OrderRow }>()`, and the same on a transaction.
 *
 * The same queries run on SQLite and on PostgreSQL, so they keep to what both know: columns `text`, `integer` (32 bits)
 * and `bigint` (milliseconds and counts, at most 2^53); amounts, positions and JSON as `text`; truth as `integer` 0 and 1.
 * No JSON operators, no `rowid`, no `insert or replace` (`onConflict` is fine), no functions of one of them, no `for update`:
 * an update or upsert of the row comes first where a read must not be overtaken.
 */
export interface Views {
  readonly db: Kysely<object>
  /** Runs the steps that this schema has not seen, each in a transaction. Names are unique across services. */
  migrate(name: string, steps: readonly Migration[]): Promise<void>
  close(): Promise<void>
}
