import { must } from '@penstock/kernel/result.ts'
import { type Appended, categoryOf, type ExpectedRevision, type NewEvent } from '@penstock/ports/event-store.ts'
import { answerMismatch, checkBatch, firstRevision } from '../shared/repeat.ts'
import { batchInsert } from './batch-insert.ts'
import type { EventReader } from './event-reader.ts'
import type { MarketLog } from './log.ts'
import { type Head, streamHeads } from './stream-heads.ts'
import { streamIndex } from './stream-index.ts'

/** Adds events inside the log's transactions. What it remembers between them is void when the log says so. */
export function eventAppender(log: MarketLog, reader: EventReader) {
  const { db } = log
  const heads = streamHeads(db)
  const index = streamIndex(db)
  const rows = batchInsert(db, 'events', ['position', 'stream', 'revision', 'id', 'type', 'data', 'meta'])
  let lastPosition: number | undefined

  log.onBeforeCommit(() => {
    rows.flush()
    if (lastPosition !== undefined) index.catchUp(lastPosition)
  })
  log.onReset(() => {
    rows.drop()
    heads.forget()
    index.forget()
    lastPosition = undefined
  })
  // Reads inside a transaction come after the rows that it collected.
  const findHead = (stream: string): Head | undefined => {
    rows.flush()
    return heads.find(stream)
  }
  const found = (stream: string, events: readonly NewEvent[]) => {
    rows.flush()
    return reader.find(stream, events)
  }

  return {
    /** @returns undefined where nothing was appended since the log was opened or reset */
    lastPosition: () => lastPosition,
    /** Whether a stream is known to have nothing at this revision yet: who looks for news mostly finds none. */
    endsBefore(stream: string, revision: number): boolean {
      const head = heads.known(stream)
      return head !== undefined && head.revision < revision && !log.isOutdated()
    },
    append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Appended {
      checkBatch(stream, events)
      const head = heads.known(stream) ?? findHead(stream)
      const actual = head ? head.revision : 'none'
      if (actual !== expected) return answerMismatch(expected, actual, events, found(stream, events))
      const category = categoryOf(stream)
      const before = lastPosition ?? reader.lastPosition()
      must(Number.isSafeInteger(before + events.length), 'the log has no positions left; run "penstock audit verify"')
      const streamId = head?.id ?? heads.create(stream, category)
      let revision = firstRevision(expected) - 1
      let position = before
      for (const { id, type, data, meta } of events) rows.add(++position, streamId, ++revision, id, type, data, meta)
      lastPosition = position
      heads.set(stream, { id: streamId, revision })
      heads.mark(category, before + 1, position)
      return { outcome: 'appended', revision, position: BigInt(position) }
    },
  }
}
