import type { DatabaseSync } from 'node:sqlite'

/** A segment is a range of 2^SEGMENT_BITS positions. The table `segments` lists the segments in which a category occurs. */
export const SEGMENT_BITS = 10

export type StreamHead = { readonly id: number; readonly revision: number }

const MAX_HEADS = 8192

/** Caches the last revision of streams, because most appends follow another append to the same stream. */
export function createStreamHeads(db: DatabaseSync) {
  const findId = db.prepare('select id from streams where name = ?')
  // The index `stream_events` covers `events` up to the position in `indexed` (see stream-index.ts).
  const lastRevision = db.prepare(`select max(
    coalesce((select max(revision) from stream_events where stream = ?1), -1),
    coalesce((select max(revision) from events where position > (select position from indexed) and stream = ?1), -1)) as revision`)
  const insertStream = db.prepare('insert into streams (name, category) values (?, ?)')
  const insertSegment = db.prepare('insert or ignore into segments (category, segment) values (?, ?)')
  const heads = new Map<string, StreamHead>()
  const lastSegments = new Map<string, number>()

  return {
    cached: (stream: string): StreamHead | undefined => heads.get(stream),
    /** @returns undefined if the stream does not exist */
    find(stream: string): StreamHead | undefined {
      const id = findId.get(stream)?.['id']
      if (id === undefined) return undefined
      return { id: Number(id), revision: Number(lastRevision.get(Number(id))?.['revision']) }
    },
    create: (stream: string, category: string): number => Number(insertStream.run(stream, category).lastInsertRowid),
    set(stream: string, head: StreamHead): void {
      heads.set(stream, head)
      if (heads.size <= MAX_HEADS) return
      for (const oldest of heads.keys()) {
        heads.delete(oldest)
        break
      }
    },
    /** Records that the category occurs between two positions. */
    markSegments(category: string, from: number, to: number): void {
      for (let segment = segmentOf(from); segment <= segmentOf(to); segment++) {
        if (lastSegments.get(category) === segment) continue
        insertSegment.run(category, segment)
        lastSegments.set(category, segment)
      }
    },
    forget(): void {
      heads.clear()
      lastSegments.clear()
    },
  }
}

// A bit shift is wrong here, because positions may need more than 32 bits.
export const segmentOf = (position: number): number => Math.floor(position / 2 ** SEGMENT_BITS)
