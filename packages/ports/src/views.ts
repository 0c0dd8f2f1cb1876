import type { Kysely } from 'kysely'

/** One step of a schema's history. A released step never changes; a later step corrects a mistake. */
export type Migration = (db: Kysely<object>) => Promise<void>

/**
 * The tables that can be rebuilt from the facts: read models, timers, progress, limits. The owner of tables declares them by
 * types: `views.db.$extendTables<{ orders: OrderRow }>()`, also on a transaction.
 *
 * The same queries run on SQLite and PostgreSQL, so they use only common features. Columns are `text`, `integer` (32 bits)
 * and `bigint` (milliseconds and counts, at most 2^53). Amounts, positions and JSON are `text`, and booleans are `integer` 0
 * and 1.
 *
 * The queries use no JSON operators, no `rowid`, no `for update`, no functions of one database, and no `insert or replace`
 * (`onConflict` is fine). A transaction updates or upserts a row before it reads it, if no other transaction may come in
 * between.
 */
export interface Views {
  readonly db: Kysely<object>
  /** Runs the steps that this schema has not seen, each in a transaction. Names are unique across services. */
  migrate(name: string, steps: readonly Migration[]): Promise<void>
  close(): Promise<void>
}
