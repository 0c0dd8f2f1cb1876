import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { eventMemory, type EventMemory, memoryEventStore } from '../memory/event-store.ts'
import type { Disk } from './disk.ts'
import type { CallOptions, Mortal } from './mortal.ts'
import { streamTo } from './streams.ts'

/** The store that all processes share; it outlives each of them. */
export type SeededEventStore = {
  readonly memory: EventMemory
  /** The store without a way to it, for who looks from outside. */
  readonly direct: EventStore
  of(process: Mortal): EventStore
}

export function seededEventStore(disk: Disk): SeededEventStore {
  const memory = eventMemory()
  const direct = memoryEventStore(memory)
  return { memory, direct, of: (process) => storeOf(process, direct, disk) }
}

const APPEND = {
  fault: 'appendFault',
  unknown: 'appendUnknown',
  late: 'appendLate',
  orphan: 'appendOrphan',
} as const satisfies CallOptions

function storeOf(process: Mortal, direct: EventStore, disk: Disk): EventStore {
  const closed = new AbortController()
  const checkOpen = (): void => {
    if (closed.signal.aborted) throw new Fault('the event store is closed')
  }
  const ask = async <T>(what: 'read' | 'readAll', read: () => Promise<T>): Promise<T> => {
    checkOpen()
    return process.call(`store.${what}`, read, { fault: 'readFault' })
  }
  return {
    async append(stream, expected, events) {
      checkOpen()
      const write = () => {
        disk.checkSpace(process)
        return direct.append(stream, expected, events)
      }
      return process.call('store.append', write, { ...APPEND, line: stream })
    },
    read: (stream, from, max) => ask('read', () => direct.read(stream, from, max)),
    readAll: (after, max, categories) => ask('readAll', () => direct.readAll(after, max, categories)),
    follow(options) {
      checkOpen()
      return followed(process, direct, { ...options, signal: AbortSignal.any([options.signal, closed.signal]) })
    },
    close: async () => closed.abort(),
  }
}

async function* followed(process: Mortal, direct: EventStore, options: FollowOptions): AsyncGenerator<readonly StoredEvent[]> {
  const pages = streamTo(process, 'store.follow', options.signal, (signal) => direct.follow({ ...options, signal }), {
    cut: 'followCut',
  })
  const draws = process.random.fork('follow')
  for await (const page of pages)
    for (let from = 0; from < page.length && !options.signal.aborted;) {
      // Where a page ends is nobody's promise.
      const until = draws.chance(0.2) ? draws.between(from + 1, page.length) : page.length
      yield page.slice(from, until)
      from = until
    }
}
