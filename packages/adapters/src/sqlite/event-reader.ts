import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import type { Found } from '../shared/repeat.ts'
import { SEGMENT_BITS, segmentOf } from './stream-heads.ts'
import { streamRows } from './stream-index.ts'

/** One step through the log: what was found, and up to which position it was looked for. */
export type Scan = { readonly events: readonly StoredEvent[]; readonly until: number; readonly done: boolean }

type Row = Record<string, SQLOutputValue>

const EVENT = 'e.position, e.revision, e.id, e.type, e.data, e.meta'
const NAMED_EVENT = `${EVENT}, s.name as stream`

export type EventReader = ReturnType<typeof eventReader>

export function eventReader(db: DatabaseSync) {
  const findStream = db.prepare('select id from streams where name = ?')
  const wholeEvents = streamRows(db, EVENT)
  const places = streamRows(db, 'e.position, e.revision, e.id')
  const all = db.prepare(`select ${NAMED_EVENT} from events e cross join streams s on s.id = e.stream
    where e.position > ? and e.position <= ? order by e.position limit ?`)
  const ofCategories = db.prepare(`select ${NAMED_EVENT} from events e cross join streams s on s.id = e.stream
    where e.position > ? and e.position <= ? and s.category in (select value from json_each(?)) order by e.position limit ?`)
  const nextSegment = db.prepare(`select min(segment) as segment from segments
    where segment >= ? and category in (select value from json_each(?))`)
  const next = db.prepare('select min(position) as position from events where position > ? and position <= ?')
  // An event beyond that was written by somebody else: no number here could name its place.
  const last = db.prepare(`select max(position) as position from events where position <= ${Number.MAX_SAFE_INTEGER}`)
  const lastPosition = (): number => Number(last.get()?.['position'] ?? 0)
  /** By the index: positions may lie any number of empty segments apart. */
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
    /** Those events of a batch that the stream has, wherever. */
    find(stream: string, events: readonly NewEvent[]): readonly Found[] {
      const ids = new Set(events.map(({ id }) => id))
      const id = findStream.get(stream)?.['id']
      const rows = id === undefined ? [] : places(Number(id), 0, Number.MAX_SAFE_INTEGER)
      return rows
        .map(({ id: found, revision, position }) => ({
          id: String(found),
          revision: Number(revision),
          position: BigInt(Number(position)),
        }))
        .filter((event) => ids.has(event.id))
    },
    /** Looks through at most one segment, so that the event loop is never held up for long. */
    scan(after: number, max: number, categories?: readonly string[]): Scan {
      // Read first: whatever another process adds from here on is left for the next step.
      const end = lastPosition()
      const wanted = categories && JSON.stringify(categories)
      const segment = wanted === undefined ? segmentAfter(after, end) : nextSegment.get(segmentOf(after + 1), wanted)?.['segment']
      if (typeof segment !== 'number' || after >= end) return { events: [], until: Math.max(after, end), done: true }
      const from = Math.max(after, segment * 2 ** SEGMENT_BITS - 1)
      const to = Math.min(end, (segment + 1) * 2 ** SEGMENT_BITS - 1)
      const rows = wanted === undefined ? all.all(from, to, max) : ofCategories.all(from, to, wanted, max)
      const events = rows.map((row) => storedEvent(row, String(row['stream'])))
      const full = events.length === max
      return { events, until: full ? Number(events.at(-1)?.position) : to, done: !full && to === end }
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

/** SQLite keeps any type in any column. A value of another type is no revision, and no text that a hash covers. */
const numberOf = (value: SQLOutputValue | undefined): number => (typeof value === 'number' ? value : Number.NaN)
const textOf = (value: SQLOutputValue | undefined): string => (typeof value === 'string' ? value : '')
