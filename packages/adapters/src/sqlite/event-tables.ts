import { DatabaseSync } from 'node:sqlite'
import type { MarketLog } from './log.ts'

/**
 * `segments` says in which runs of 1,024 positions a category occurs at all, so that somebody who follows a quiet
 * category need not read the busy ones; an index by category would be a write for every event. `indexed` is how far
 * `stream_events` has come (see stream-index.ts).
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

export function createTables({ db, readOnly }: Pick<MarketLog, 'db' | 'readOnly'>): void {
  if (readOnly) return
  for (const [name, columns] of Object.entries(TABLES)) db.exec(`create table if not exists ${name} ${columns}`)
  db.exec('insert or ignore into indexed (id, position) values (0, 0)')
}

/** Whether the file has tables of events: without them nothing can be asked of it. */
export const hasEvents = (db: DatabaseSync): boolean =>
  EVENT_TABLES.every(
    (name) => db.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(name) !== undefined,
  )

/**
 * The definitions of the events' tables and of all that belongs to them, and every view and trigger of the file, each as
 * a line. The rules that readers rely on (one id for a name, one event for a revision) are rules of these definitions.
 */
export const definitionsIn = (db: DatabaseSync): readonly string[] =>
  db
    .prepare(
      `select type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '') as line from sqlite_schema
       where type in ('view', 'trigger') or tbl_name in (select value from json_each(?)) order by 1`,
    )
    .all(JSON.stringify(EVENT_TABLES))
    // Older checkouts may have laid their text out otherwise.
    .map(({ line }) => String(line).replaceAll(/\s+/g, ' '))

/** As this code makes them. */
export function ownDefinitions(): readonly string[] {
  const db = new DatabaseSync(':memory:')
  try {
    createTables({ db, readOnly: false })
    return definitionsIn(db)
  } finally {
    db.close()
  }
}
