import { copyFileSync, cpSync } from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hashState } from '@penstock/runtime/commands/event-codec.ts'
import { indexAggregates, type FoldedStream, foldEvent, emptyFold } from '@penstock/audit/fold.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { makeTempFolder } from '../support/product.ts'
import { readDatabase } from '../support/sqlite.ts'

export type EventRow = {
  position: number
  stream: number
  name: string
  revision: number
  id: string
  type: string
  data: string
  meta: string
}

const ROWS_QUERY =
  'select e.position, e.stream, s.name, e.revision, e.id, e.type, e.data, e.meta from events e left join streams s on s.id = e.stream order by e.position'
const INDEX_TABLES = ['stream_events', 'segments', 'indexed', 'streams']

/** Copies a market's store with its heads and their key. @returns the folder of the copy */
export function copyStore(dataDir: string): string {
  const copy = makeTempFolder()
  for (const file of ['market.db', 'audit.heads', 'audit.key']) copyFileSync(join(dataDir, file), join(copy, file))
  return copy
}

/** Copies a whole data folder, so that a market can start with the copy. @returns the folder of the copy */
export function copyDataDir(dataDir: string): string {
  const copy = makeTempFolder()
  cpSync(dataDir, copy, { recursive: true })
  return copy
}

/** Changes the tables directly, without the rules of the store, as a forger with access to the file would. */
export function tamper(dataDir: string, change: (db: DatabaseSync) => void, reindex = false): void {
  const db = new DatabaseSync(join(dataDir, 'market.db'))
  try {
    change(db)
    // A careful forger also adapts the index tables.
    if (reindex)
      db.exec(`delete from stream_events; insert or ignore into stream_events select stream, revision, position from events;
        update indexed set position = (select coalesce(max(position), 0) from events);
        delete from streams where id not in (select stream from events)`)
  } finally {
    db.close()
  }
}

const readMarket = <T>(dataDir: string, read: (db: DatabaseSync) => T): T => readDatabase(dataDir, 'market.db', read)

export const readRows = (dataDir: string): readonly EventRow[] =>
  readMarket(dataDir, (db) => db.prepare(ROWS_QUERY).all() as unknown as EventRow[]) // ROWS_QUERY selects these columns

/** Reads the position up to which the index of streams contains the events. */
export const readIndexedPosition = (dataDir: string): number =>
  readMarket(dataDir, (db) => Number(db.prepare('select position from indexed').get()?.['position']))

/** Reads all events and index tables as one text. @throws Error if the file is damaged */
export const readContent = (dataDir: string): string =>
  readMarket(dataDir, (db) => {
    const tables = INDEX_TABLES.map((table) => db.prepare(`select * from ${table} order by 1, 2`).all())
    return JSON.stringify([db.prepare(ROWS_QUERY).all(), tables])
  })

/**
 * Recomputes all hashes, as a forger would who knows the algorithm but does not have the key.
 * @param change edits an event before its hashes are recomputed: the metadata or other columns. An edited state hash is kept.
 */
export function recomputeChain(
  rows: readonly EventRow[],
  change: (meta: Record<string, unknown>, row: EventRow) => void,
): readonly EventRow[] {
  const aggregates = indexAggregates(createStreamServices())
  const chainEnds = new Map<string, FoldedStream>()
  return rows.map((original) => {
    const aggregate = aggregates.get(original.name.slice(0, original.name.indexOf('-')))
    if (!aggregate) throw new Error(`no service owns ${original.name}`)
    const previous = chainEnds.get(original.name) ?? emptyFold(aggregate)
    const row = { ...original }
    const meta = JSON.parse(row.meta) as Record<string, unknown> // the runtime wrote it
    delete meta['chain']
    const originalStateHash = meta['state']
    change(meta, row)
    const { state } = foldOrKeep(aggregate, previous, { ...row, meta: JSON.stringify(meta) })
    const { version, projections } = aggregate.hashed
    if (originalStateHash !== undefined && meta['state'] === originalStateHash)
      meta['state'] = hashState(version, projections[version]?.(state))
    const metaWithoutChain = JSON.stringify(meta).slice(0, -1)
    const chain = hash(
      'sha256',
      `${previous.chain}\n${row.name}\n${row.revision}\n${row.id}\n${row.type}\n${row.data}\n${metaWithoutChain}`,
    )
    chainEnds.set(row.name, { revision: row.revision, state, chain })
    return { ...row, meta: `${metaWithoutChain},"chain":"${chain}"}` }
  })
}

/** Folds an event. If the fold fails, returns the previous state, because a forger could compute no other hash. */
function foldOrKeep(
  aggregate: Parameters<typeof foldEvent>[0],
  previous: FoldedStream,
  row: EventRow,
): Pick<FoldedStream, 'state'> {
  try {
    return foldEvent(aggregate, previous, { ...row, stream: row.name, position: BigInt(row.position) })
  } catch {
    return previous
  }
}

/** Copies the sources to a second checkout, which the caller can change. It contains no installed packages. */
export function copyCheckout(root: string): string {
  const copy = makeTempFolder()
  for (const part of ['packages', 'services', 'package.json', 'pnpm-workspace.yaml'])
    cpSync(join(root, part), join(copy, part), { recursive: true, verbatimSymlinks: true })
  return copy
}
