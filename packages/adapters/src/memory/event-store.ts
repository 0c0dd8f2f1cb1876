import { Fault } from '@penstock/kernel/result.ts'
import {
  type Appended,
  categoryOf,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  type StoredEvent,
} from '@penstock/ports/event-store.ts'
import { follows } from '../shared/follows.ts'
import { answerMismatch, checkBatch, firstRevision } from '../shared/repeat.ts'

/** What survives when a memory store is "restarted": give the same one to the next `memoryEventStore`. */
export type EventMemory = { readonly log: StoredEvent[]; readonly streams: Map<string, StoredEvent[]> }

export const eventMemory = (): EventMemory => ({ log: [], streams: new Map() })

/** For tests: the same answers as a durable store, and nothing on disk. */
export function memoryEventStore({ log, streams }: EventMemory = eventMemory()): EventStore {
  let closed = false
  const checkOpen = (): void => {
    if (closed) throw new Fault('the event store is closed')
  }

  function append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Appended {
    checkBatch(stream, events)
    const stored = streams.get(stream) ?? []
    const actual = stored.at(-1)?.revision ?? 'none'
    if (actual !== expected) {
      const ids = new Set(events.map(({ id }) => id))
      return answerMismatch(
        expected,
        actual,
        events,
        stored.filter(({ id }) => ids.has(id)),
      )
    }
    for (const { id, type, data, meta } of events) {
      const event = { id, type, data, meta, stream, revision: stored.length, position: BigInt(log.length + 1) }
      stored.push(event)
      log.push(event)
    }
    streams.set(stream, stored)
    following.wake(new Set([categoryOf(stream)]), BigInt(log.length))
    return { outcome: 'appended', revision: firstRevision(expected) + events.length - 1, position: BigInt(log.length) }
  }

  function page(after: bigint | 'start', max: number, categories?: readonly string[]) {
    const events: StoredEvent[] = []
    let index = after === 'start' ? 0 : Number(after)
    for (; index < log.length && events.length < max; index++) {
      const event = log[index]
      if (event && (!categories || categories.includes(categoryOf(event.stream)))) events.push(event)
    }
    return { events, until: BigInt(index) }
  }

  const following = follows({ page: async (after, max, categories) => page(after, max, categories) })
  return {
    async append(stream, expected, events) {
      checkOpen()
      return append(stream, expected, events)
    },
    async read(stream, from = 0, max = Number.MAX_SAFE_INTEGER) {
      checkOpen()
      return (streams.get(stream) ?? []).slice(from, from + max)
    },
    async readAll(after, max, categories) {
      checkOpen()
      return page(after, max, categories).events
    },
    follow(options) {
      checkOpen()
      return following.follow(options)
    },
    async close() {
      closed = true
      following.close()
    },
  }
}
