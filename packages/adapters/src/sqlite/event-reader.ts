import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import type { FoundEvent } from '../shared/idempotent-append.ts'
import { SEGMENT_BITS, segmentOf } from './stream-heads.ts'
import { prepareStreamRows } from './stream-index.ts'

/** The result of one scan: the found events, and the position up to which the log was read. */
export type LogScan = { readonly events: readonly StoredEvent[]; readonly until: number; readonly isAtEnd: boolean }

type Row = Record<string, SQLOutputValue>

const EVENT_COLUMNS = 'e.position, e.revision, e.id, e.type, e.data, e.meta'
const NAMED_EVENT_COLUMNS = `${EVENT_COLUMNS}, s.name as stream`

export type SqliteReader = ReturnType<typeof createSqliteReader>

export function createSqliteReader(db: DatabaseSync) {
  const findStream = db.prepare('select id from streams where name = ?')
  const wholeEvents = prepareStreamRows(db, EVENT_COLUMNS)
  const revisions = prepareStreamRows(db, 'e.position, e.revision, e.id')
  const all = db.prepare(`select ${NAMED_EVENT_COLUMNS} from events e cross join streams s on s.id = e.stream
    where e.position > ? and e.position <= ? order by e.position limit ?`)
  const ofCategories = db.prepare(`select ${NAMED_EVENT_COLUMNS} from events e cross join streams s on s.id = e.stream
    where e.position > ? and e.position <= ? and s.category in (select value from json_each(?)) order by e.position limit ?`)
  const nextSegment = db.prepare(`select min(segment) as segment from segments
    where segment >= ? and category in (select value from json_each(?))`)
  const next = db.prepare('select min(position) as position from events where position > ? and position <= ?')
  // Only other software can write an event beyond this position, because a number cannot represent it.
  const last = db.prepare(`select max(position) as position from events where position <= ${Number.MAX_SAFE_INTEGER}`)
  const lastPosition = (): number => Number(last.get()?.['position'] ?? 0)
  /** Uses the primary key, because any number of empty segments may lie between two positions. */
  const segmentAfter = (after: number, end: number): number | undefined => {
    const position = next.get(after, end)?.['position']
    return typeof position === 'number' ? segmentOf(position) : undefined
  }

  return {
    lastPosition,
    read(stream: string, from: number, max: number): readonly StoredEvent[] {
      const id = findStream.get(stream)?.['id']
      return id === undefined ? [] : wholeEvents(Number(id), from, max).map((row) => storedEvent(row, stream))
    },
    /** @returns the events of a batch that the stream has, at any revision */
    find(stream: string, events: readonly NewEvent[]): readonly FoundEvent[] {
      const ids = new Set(events.map(({ id }) => id))
      const id = findStream.get(stream)?.['id']
      const rows = id === undefined ? [] : revisions(Number(id), 0, Number.MAX_SAFE_INTEGER)
      return rows
        .map(({ id: found, revision, position }) => ({
          id: String(found),
          revision: Number(revision),
          position: BigInt(Number(position)),
        }))
        .filter((event) => ids.has(event.id))
    },
    /** Reads at most one segment, so that the event loop is never blocked for long. */
    scan(after: number, max: number, categories?: readonly string[]): LogScan {
      // The end is read first. Events that another process adds after it belong to the next scan.
      const end = lastPosition()
      const wantedCategories = categories && JSON.stringify(categories)
      const segment =
        wantedCategories === undefined
          ? segmentAfter(after, end)
          : nextSegment.get(segmentOf(after + 1), wantedCategories)?.['segment']
      if (typeof segment !== 'number' || after >= end) return { events: [], until: Math.max(after, end), isAtEnd: true }
      const from = Math.max(after, segment * 2 ** SEGMENT_BITS - 1)
      const to = Math.min(end, (segment + 1) * 2 ** SEGMENT_BITS - 1)
      const rows = wantedCategories === undefined ? all.all(from, to, max) : ofCategories.all(from, to, wantedCategories, max)
      const events = rows.map((row) => storedEvent(row, String(row['stream'])))
      const isFull = events.length === max
      return { events, until: isFull ? Number(events.at(-1)?.position) : to, isAtEnd: !isFull && to === end }
    },
  }
}

const storedEvent = (row: Row, stream: string): StoredEvent => ({
  stream,
  revision: numberOf(row['revision']),
  position: BigInt(Number(row['position'])),
  id: textOf(row['id']),
  type: textOf(row['type']),
  data: textOf(row['data']),
  meta: textOf(row['meta']),
})

/** SQLite stores any type in any column. A value of another type becomes NaN or an empty text. */
const numberOf = (value: SQLOutputValue | undefined): number => (typeof value === 'number' ? value : Number.NaN)
const textOf = (value: SQLOutputValue | undefined): string => (typeof value === 'string' ? value : '')
