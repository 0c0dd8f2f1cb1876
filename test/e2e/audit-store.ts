import { copyFileSync, cpSync } from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { stateHash } from '@penstock/runtime/event-codec.ts'
import { aggregatesOf, type Folded, stepOf, unfolded } from '@penstock/runtime/audit-fold.ts'
import { audited } from '@penstock/standalone/services.ts'
import { scratch } from '../harness/product.ts'

export type Row = {
  position: number
  stream: number
  name: string
  revision: number
  id: string
  type: string
  data: string
  meta: string
}

const ROWS =
  'select e.position, e.stream, s.name, e.revision, e.id, e.type, e.data, e.meta from events e left join streams s on s.id = e.stream order by e.position'
const TABLES = ['stream_events', 'segments', 'indexed', 'streams']

/** A copy of a market's store with its heads and their key. */
export function copyOf(dataDir: string): string {
  const copy = scratch()
  for (const file of ['market.db', 'audit.heads', 'audit.key']) copyFileSync(join(dataDir, file), join(copy, file))
  return copy
}

/** A copy that a market can start on. */
export function wholeCopyOf(dataDir: string): string {
  const copy = scratch()
  cpSync(dataDir, copy, { recursive: true })
  return copy
}

/** Changes the tables past every rule of the store, as somebody with the file would. */
export function tamper(dataDir: string, change: (db: DatabaseSync) => void, reindex = false): void {
  const db = new DatabaseSync(join(dataDir, 'market.db'))
  try {
    change(db)
    // Somebody careful leaves no trace in the tables beside the events.
    if (reindex)
      db.exec(`delete from stream_events; insert or ignore into stream_events select stream, revision, position from events;
        update indexed set position = (select coalesce(max(position), 0) from events);
        delete from streams where id not in (select stream from events)`)
  } finally {
    db.close()
  }
}

export function rowsOf(dataDir: string): readonly Row[] {
  const db = new DatabaseSync(join(dataDir, 'market.db'), { readOnly: true })
  try {
    return db.prepare(ROWS).all() as unknown as Row[] // the columns are named above
  } finally {
    db.close()
  }
}

/** The position up to which events have their place in the index of streams. */
export function indexedUpTo(dataDir: string): number {
  const db = new DatabaseSync(join(dataDir, 'market.db'), { readOnly: true })
  try {
    return Number(db.prepare('select position from indexed').get()?.['position'])
  } finally {
    db.close()
  }
}

/** All that the store knows of facts, as one text. @throws where the file is damaged */
export function contentOf(dataDir: string): string {
  const db = new DatabaseSync(join(dataDir, 'market.db'), { readOnly: true })
  try {
    const tables = TABLES.map((table) => db.prepare(`select * from ${table} order by 1, 2`).all())
    return JSON.stringify([db.prepare(ROWS).all(), tables])
  } finally {
    db.close()
  }
}

/**
 * Writes all hashes anew, as somebody would who knows how they are made but has not the key.
 * @param change edits an event before: its metadata or its other columns. A state hash that it edits stays as it says.
 */
export function rechain(rows: readonly Row[], change: (meta: Record<string, unknown>, row: Row) => void): readonly Row[] {
  const aggregates = aggregatesOf(audited())
  const ends = new Map<string, Folded>()
  return rows.map((honest) => {
    const aggregate = aggregates.get(honest.name.slice(0, honest.name.indexOf('-')))
    if (!aggregate) throw new Error(`nobody owns ${honest.name}`)
    const before = ends.get(honest.name) ?? unfolded(aggregate)
    const row = { ...honest }
    const meta = JSON.parse(row.meta) as Record<string, unknown> // the runtime wrote it
    delete meta['chain']
    const hashed = meta['state']
    change(meta, row)
    const { state } = foldedOrNot(aggregate, before, { ...row, meta: JSON.stringify(meta) })
    const { version, of } = aggregate.hashed
    if (hashed !== undefined && meta['state'] === hashed) meta['state'] = stateHash(version, of[version]?.(state))
    const open = JSON.stringify(meta).slice(0, -1)
    const chain = hash('sha256', `${before.chain}\n${row.name}\n${row.revision}\n${row.id}\n${row.type}\n${row.data}\n${open}`)
    ends.set(row.name, { revision: row.revision, state, chain })
    return { ...row, meta: `${open},"chain":"${chain}"}` }
  })
}

/** What does not fold leaves the state as it was: nobody can do better who writes it. */
function foldedOrNot(aggregate: Parameters<typeof stepOf>[0], before: Folded, row: Row): Pick<Folded, 'state'> {
  try {
    return stepOf(aggregate, before, { ...row, stream: row.name, position: BigInt(row.position) })
  } catch {
    return before
  }
}

/** A second checkout: the same sources, to be changed, on the same installed packages. */
export function checkout(root: string): string {
  const copy = scratch()
  for (const part of ['packages', 'services', 'package.json', 'pnpm-workspace.yaml'])
    cpSync(join(root, part), join(copy, part), { recursive: true, verbatimSymlinks: true })
  return copy
}
