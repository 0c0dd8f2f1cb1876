import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'

/** So many events may wait for their place in the index: as many rows at most are looked through by a read. */
const MOST_BEHIND = 128

type Row = Record<string, SQLOutputValue>

/**
 * Which events a stream has. The index is filled some events behind the log, in the same file and transactions: an
 * append of one event then writes one page, not two. A read looks at the index and through the few that are not in it.
 */
export function streamIndex(db: DatabaseSync) {
  const fill = db.prepare(`insert into stream_events (stream, revision, position)
    select stream, revision, position from events where position > ? and position <= ?`)
  const note = db.prepare('update indexed set position = ?')
  const load = db.prepare('select position from indexed')
  let indexed: number | undefined

  return {
    /** Fills the index if it is far enough behind. In a transaction, when all rows are in the table. */
    catchUp(lastPosition: number): void {
      indexed ??= Number(load.get()?.['position'])
      if (lastPosition - indexed < MOST_BEHIND) return
      fill.run(indexed, lastPosition)
      note.run(lastPosition)
      indexed = lastPosition
    },
    forget(): void {
      indexed = undefined
    },
  }
}

/** Reads these columns of a stream's events, `revision` among them, in order from a revision on. */
export function streamRows(db: DatabaseSync, columns: string): (stream: number, from: number, max: number) => readonly Row[] {
  const inIndex = db.prepare(`select ${columns} from stream_events i join events e on e.position = i.position
    where i.stream = ? and i.revision >= ? order by i.revision limit ?`)
  const behind = db.prepare(`select ${columns} from events e
    where e.position > (select position from indexed) and e.stream = ? and e.revision >= ? order by e.position`)
  return (stream, from, max) => {
    // In this order: what another process moves into the index meanwhile is then seen twice, not missed.
    const late = behind.all(stream, from)
    const rows = inIndex.all(stream, from, max)
    const next = rows.length === 0 ? from : Number(rows.at(-1)?.['revision']) + 1
    rows.push(...late.filter((row) => Number(row['revision']) >= next))
    return rows.slice(0, max)
  }
}
