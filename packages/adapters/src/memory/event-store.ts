import { Fault } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { AppendOutcome, EventStore, ExpectedRevision, NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import { createLogFollowers } from '../shared/log-followers.ts'
import { answerMismatch, checkBatch, firstRevision } from '../shared/idempotent-append.ts'

/** The state that survives a "restart" of a memory store: pass the same one to the next `memoryEventStore`. */
export type EventMemory = { readonly log: StoredEvent[]; readonly streams: Map<string, StoredEvent[]> }

export const createEventMemory = (): EventMemory => ({ log: [], streams: new Map() })

/** A store for tests that answers like a durable store and writes nothing to disk. */
export function memoryEventStore({ log, streams }: EventMemory = createEventMemory()): EventStore {
  let closed = false
  const checkOpen = (): void => {
    if (closed) throw new Fault('the event store is closed')
  }

  function append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): AppendOutcome {
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
    followers.wake(new Set([categoryOf(stream)]), BigInt(log.length))
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

  const followers = createLogFollowers({ page: async (after, max, categories) => page(after, max, categories) })
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
      return followers.follow(options)
    },
    async close() {
      closed = true
      followers.close()
    },
  }
}
