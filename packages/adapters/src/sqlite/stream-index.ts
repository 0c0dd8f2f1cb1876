import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'

/** Maximum number of events that the index lacks. A read scans at most this many rows in addition to the index. */
const MAX_BEHIND = 128

type Row = Record<string, SQLOutputValue>

/**
 * Indexes the events of each stream, in the same file and transactions. The index lags some events behind the log, so that an
 * append of one event writes one page instead of two. A read combines the index with the few unindexed events.
 */
export function createStreamIndex(db: DatabaseSync) {
  const fill = db.prepare(`insert into stream_events (stream, revision, position)
    select stream, revision, position from events where position > ? and position <= ?`)
  const saveIndexed = db.prepare('update indexed set position = ?')
  const load = db.prepare('select position from indexed')
  let indexed: number | undefined

  return {
    /** Fills the index if it is far enough behind. Call it in a transaction, after all rows are in the table. */
    catchUp(lastPosition: number): void {
      indexed ??= Number(load.get()?.['position'])
      if (lastPosition - indexed < MAX_BEHIND) return
      fill.run(indexed, lastPosition)
      saveIndexed.run(lastPosition)
      indexed = lastPosition
    },
    forget(): void {
      indexed = undefined
    },
  }
}

/** Prepares a read of these columns, with `revision` among them, of a stream from a revision on, in order. */
export function prepareStreamRows(
  db: DatabaseSync,
  columns: string,
): (stream: number, from: number, max: number) => readonly Row[] {
  const inIndex = db.prepare(`select ${columns} from stream_events i join events e on e.position = i.position
    where i.stream = ? and i.revision >= ? order by i.revision limit ?`)
  const unindexed = db.prepare(`select ${columns} from events e
    where e.position > (select position from indexed) and e.stream = ? and e.revision >= ? order by e.position`)
  return (stream, from, max) => {
    // Unindexed events are read first. An event that another process indexes meanwhile is then read twice instead of missed.
    const unindexedRows = unindexed.all(stream, from)
    const rows = inIndex.all(stream, from, max)
    const next = rows.length === 0 ? from : Number(rows.at(-1)?.['revision']) + 1
    rows.push(...unindexedRows.filter((row) => Number(row['revision']) >= next))
    return rows.slice(0, max)
  }
}
