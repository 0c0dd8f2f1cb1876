import { setImmediate as nextTurn } from 'node:timers/promises'
import { Fault } from '@penstock/kernel/result.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { follows } from '../shared/follows.ts'
import { unlessDamaged } from './damage.ts'
import { eventAppender } from './event-appender.ts'
import { type EventReader, eventReader, type Scan } from './event-reader.ts'
import { createTables } from './event-tables.ts'
import type { MarketLog } from './log.ts'

/**
 * Events in the shared log. There is no index by event id: it would dirty a page for every event and cost three
 * quarters of the throughput. A repeated append is recognised within its stream, where its revision does not fit.
 */
export function sqliteEventStore(log: MarketLog): EventStore {
  createTables(log)
  const reader = eventReader(log.db)
  const appender = eventAppender(log, reader)
  const touched = new Set<string>()
  let closed = false

  const scan = scanner(reader)
  const following = follows({
    page: async (after, max, categories) => {
      const { events, until } = await scan(after, max, categories)
      return { events, until: BigInt(until) }
    },
  })
  const stopListening = log.onCommit((foreign) => {
    const last = appender.lastPosition()
    if (foreign) following.wake()
    else if (touched.size > 0) following.wake(touched, last === undefined ? undefined : BigInt(last))
    touched.clear()
  })
  const checkOpen = (): void => {
    if (closed) throw new Fault('the event store is closed')
  }

  return {
    append: (stream, expected, events) =>
      log.write(() => {
        const answer = appender.append(stream, expected, events)
        if (answer.outcome === 'appended') touched.add(categoryOf(stream))
        return answer
      }),
    async read(stream, from = 0, max = Number.MAX_SAFE_INTEGER) {
      checkOpen()
      return appender.endsBefore(stream, from) ? [] : unlessDamaged(() => reader.read(stream, from, max))
    },
    async readAll(after, max, categories) {
      checkOpen()
      const page: StoredEvent[] = []
      let step = await scan(after, max, categories)
      page.push(...step.events)
      while (!step.done && page.length < max) {
        step = await scan(BigInt(step.until), max - page.length, categories)
        page.push(...step.events)
      }
      return page
    },
    follow(options) {
      checkOpen()
      return following.follow(options)
    },
    async close() {
      closed = true
      stopListening()
      following.close()
    },
  }
}

/** Looks on until something is found or the end is reached, and lets others in between. */
const scanner =
  (reader: EventReader) =>
  async (after: bigint | 'start', max: number, categories?: readonly string[]): Promise<Scan> => {
    let from = after === 'start' ? 0 : Number(after)
    for (;;) {
      const step = unlessDamaged(() => reader.scan(from, max, categories))
      if (step.events.length > 0 || step.done) return step
      from = step.until
      await nextTurn()
    }
  }
