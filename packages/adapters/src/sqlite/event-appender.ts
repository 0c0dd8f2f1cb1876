import { assert } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { AppendOutcome, ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import { answerMismatch, checkBatch, firstRevision } from '../shared/idempotent-append.ts'
import { createBatchInsert } from './batch-insert.ts'
import type { SqliteReader } from './event-reader.ts'
import type { MarketLog } from './market-log.ts'
import { type StreamHead, createStreamHeads } from './stream-heads.ts'
import { createStreamIndex } from './stream-index.ts'

/** Adds events inside the log's transactions. A reset of the log clears the caches of the appender. */
export function createSqliteAppender(log: MarketLog, reader: SqliteReader) {
  const { db } = log
  const heads = createStreamHeads(db)
  const index = createStreamIndex(db)
  const rows = createBatchInsert(db, 'events', ['position', 'stream', 'revision', 'id', 'type', 'data', 'meta'])
  let lastPosition: number | undefined

  log.onBeforeCommit(() => {
    rows.flush()
    if (lastPosition !== undefined) index.catchUp(lastPosition)
  })
  log.onReset(() => {
    rows.discard()
    heads.forget()
    index.forget()
    lastPosition = undefined
  })
  // The collected rows are inserted before a read, so that the read sees them.
  const findHead = (stream: string): StreamHead | undefined => {
    rows.flush()
    return heads.find(stream)
  }
  const findStored = (stream: string, events: readonly NewEvent[]) => {
    rows.flush()
    return reader.find(stream, events)
  }

  return {
    /** @returns undefined if nothing was appended since the log was opened or reset */
    lastPosition: () => lastPosition,
    /** Whether the cached head shows that the stream ends before this revision. Most polls for new events find none. */
    isKnownToEndBefore(stream: string, revision: number): boolean {
      const head = heads.cached(stream)
      return head !== undefined && head.revision < revision && !log.isOutdated()
    },
    append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): AppendOutcome {
      checkBatch(stream, events)
      const head = heads.cached(stream) ?? findHead(stream)
      const actual = head ? head.revision : 'none'
      if (actual !== expected) return answerMismatch(expected, actual, events, findStored(stream, events))
      const category = categoryOf(stream)
      const previousPosition = lastPosition ?? reader.lastPosition()
      assert(Number.isSafeInteger(previousPosition + events.length), 'the log has no positions left; run "penstock audit verify"')
      const streamId = head?.id ?? heads.create(stream, category)
      let revision = firstRevision(expected) - 1
      let position = previousPosition
      for (const { id, type, data, meta } of events) rows.add(++position, streamId, ++revision, id, type, data, meta)
      lastPosition = position
      heads.set(stream, { id: streamId, revision })
      heads.markSegments(category, previousPosition + 1, position)
      return { outcome: 'appended', revision, position: BigInt(position) }
    },
  }
}
