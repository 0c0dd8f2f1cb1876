import { setImmediate as nextTurn } from 'node:timers/promises'
import { Fault } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { createLogFollowers } from '../shared/log-followers.ts'
import { withDamageCheck } from './damage.ts'
import { createSqliteAppender } from './event-appender.ts'
import { type SqliteReader, createSqliteReader, type LogScan } from './event-reader.ts'
import { createEventTables } from './event-tables.ts'
import type { MarketLog } from './market-log.ts'

/**
 * Stores events in the market log. There is no index by event id, because it would dirty a page per event and cost three quarters
 * of the throughput. If the expected revision does not match, the ids of the stream show whether the append is a repeat.
 */
export function sqliteEventStore(log: MarketLog): EventStore {
  createEventTables(log)
  const reader = createSqliteReader(log.db)
  const appender = createSqliteAppender(log, reader)
  const grownCategories = new Set<string>()
  let closed = false

  const scan = createScanner(reader)
  const followers = createLogFollowers({
    page: async (after, max, categories) => {
      const { events, until } = await scan(after, max, categories)
      return { events, until: BigInt(until) }
    },
  })
  const stopListening = log.onCommit((isForeign) => {
    const last = appender.lastPosition()
    if (isForeign) followers.wake()
    else if (grownCategories.size > 0) followers.wake(grownCategories, last === undefined ? undefined : BigInt(last))
    grownCategories.clear()
  })
  const checkOpen = (): void => {
    if (closed) throw new Fault('the event store is closed')
  }

  return {
    append: (stream, expected, events) =>
      log.write(() => {
        const answer = appender.append(stream, expected, events)
        if (answer.outcome === 'appended') grownCategories.add(categoryOf(stream))
        return answer
      }),
    async read(stream, from = 0, max = Number.MAX_SAFE_INTEGER) {
      checkOpen()
      return appender.isKnownToEndBefore(stream, from) ? [] : withDamageCheck(() => reader.read(stream, from, max))
    },
    async readAll(after, max, categories) {
      checkOpen()
      const page: StoredEvent[] = []
      let step = await scan(after, max, categories)
      page.push(...step.events)
      while (!step.isAtEnd && page.length < max) {
        step = await scan(BigInt(step.until), max - page.length, categories)
        page.push(...step.events)
      }
      return page
    },
    follow(options) {
      checkOpen()
      return followers.follow(options)
    },
    async close() {
      closed = true
      stopListening()
      followers.close()
    },
  }
}

/** Scans until it finds events or reaches the end. Other work runs between two scans. */
const createScanner =
  (reader: SqliteReader) =>
  async (after: bigint | 'start', max: number, categories?: readonly string[]): Promise<LogScan> => {
    let from = after === 'start' ? 0 : Number(after)
    for (;;) {
      const step = withDamageCheck(() => reader.scan(from, max, categories))
      if (step.events.length > 0 || step.isAtEnd) return step
      from = step.until
      await nextTurn()
    }
  }
