import { DatabaseSync } from 'node:sqlite'
import type { MarketLog } from './market-log.ts'

/**
 * `segments` records the ranges of 1,024 positions in which a category occurs. A follower of a quiet category then skips the
 * other ranges; an index by category would cost a write per event. `indexed` is the position up to which `stream_events` is
 * filled (see stream-index.ts).
 */
const TABLES: Readonly<Record<string, string>> = {
  streams: '(id integer primary key, name text not null unique, category text not null)',
  events: `(
      position integer primary key, stream integer not null, revision integer not null,
      id text not null, type text not null, data text not null, meta text not null
    )`,
  stream_events: `(
      stream integer not null, revision integer not null, position integer not null, primary key (stream, revision)
    ) without rowid`,
  indexed: '(id integer primary key check (id = 0), position integer not null)',
  segments: '(category text not null, segment integer not null, primary key (category, segment)) without rowid',
}

export const EVENT_TABLES: readonly string[] = Object.keys(TABLES)

export function createEventTables({ db, readOnly }: Pick<MarketLog, 'db' | 'readOnly'>): void {
  if (readOnly) return
  for (const [name, columns] of Object.entries(TABLES)) db.exec(`create table if not exists ${name} ${columns}`)
  db.exec('insert or ignore into indexed (id, position) values (0, 0)')
}

/** Whether the file has the tables of events. Without them no query can run. */
export const hasEventTables = (db: DatabaseSync): boolean =>
  EVENT_TABLES.every(
    (name) => db.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(name) !== undefined,
  )

/**
 * Reads the definitions of the tables of events and of their indexes, and of every view and trigger, one line per definition. The
 * constraints that readers rely on (one id per name, one event per revision) are part of these definitions.
 */
export const readDefinitions = (db: DatabaseSync): readonly string[] =>
  db
    .prepare(
      `select type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '') as line from sqlite_schema
       where type in ('view', 'trigger') or tbl_name in (select value from json_each(?)) order by 1`,
    )
    .all(JSON.stringify(EVENT_TABLES))
    // Older releases may have formatted the text differently.
    .map(({ line }) => String(line).replaceAll(/\s+/g, ' '))

/** Computes the definitions that this code creates. */
export function computeExpectedDefinitions(): readonly string[] {
  const db = new DatabaseSync(':memory:')
  try {
    createEventTables({ db, readOnly: false })
    return readDefinitions(db)
  } finally {
    db.close()
  }
}
