import type { DatabaseSync } from 'node:sqlite'

/** Positions are grouped by this many bits for the table of segments. */
export const SEGMENT_BITS = 10

export type Head = { readonly id: number; readonly revision: number }

const REMEMBERED = 8192

/** The last revision of streams, remembered between appends: most appends follow another one to the same stream. */
export function streamHeads(db: DatabaseSync) {
  const findId = db.prepare('select id from streams where name = ?')
  const lastRevision = db.prepare(`select max(
    coalesce((select max(revision) from stream_events where stream = ?1), -1),
    coalesce((select max(revision) from events where position > (select position from indexed) and stream = ?1), -1)) as revision`)
  const insertStream = db.prepare('insert into streams (name, category) values (?, ?)')
  const insertSegment = db.prepare('insert or ignore into segments (category, segment) values (?, ?)')
  const heads = new Map<string, Head>()
  const marked = new Map<string, number>()

  return {
    known: (stream: string): Head | undefined => heads.get(stream),
    /** @returns undefined where the stream does not exist */
    find(stream: string): Head | undefined {
      const id = findId.get(stream)?.['id']
      if (id === undefined) return undefined
      return { id: Number(id), revision: Number(lastRevision.get(Number(id))?.['revision']) }
    },
    create: (stream: string, category: string): number => Number(insertStream.run(stream, category).lastInsertRowid),
    set(stream: string, head: Head): void {
      heads.set(stream, head)
      if (heads.size <= REMEMBERED) return
      for (const oldest of heads.keys()) {
        heads.delete(oldest)
        break
      }
    },
    /** Notes that the category occurs between two positions. */
    mark(category: string, from: number, to: number): void {
      for (let segment = segmentOf(from); segment <= segmentOf(to); segment++) {
        if (marked.get(category) === segment) continue
        insertSegment.run(category, segment)
        marked.set(category, segment)
      }
    },
    forget(): void {
      heads.clear()
      marked.clear()
    },
  }
}

// Divided, not shifted: positions may need more than 32 bits.
export const segmentOf = (position: number): number => Math.floor(position / 2 ** SEGMENT_BITS)
