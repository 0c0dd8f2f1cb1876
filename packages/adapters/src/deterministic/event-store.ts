import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { createEventMemory, type EventMemory, memoryEventStore } from '../memory/event-store.ts'
import type { Disk } from './disk.ts'
import type { CallOptions, SimulatedProcess } from './faults/crash-injection.ts'
import { streamWithFaults } from './faults/stream-faults.ts'

/** The store that all processes share. It outlives every process. */
export type DeterministicEventStore = {
  readonly memory: EventMemory
  /** The store without latency and faults, for the checks of a test. */
  readonly direct: EventStore
  connect(process: SimulatedProcess): EventStore
}

export function deterministicEventStore(disk: Disk): DeterministicEventStore {
  const memory = createEventMemory()
  const direct = memoryEventStore(memory)
  return { memory, direct, connect: (process) => storeForProcess(process, direct, disk) }
}

const APPEND_FAULTS = {
  fault: 'appendFault',
  answerLost: 'appendUnknown',
  late: 'appendLate',
  orphan: 'appendOrphan',
} as const satisfies CallOptions

function storeForProcess(process: SimulatedProcess, direct: EventStore, disk: Disk): EventStore {
  const closed = new AbortController()
  const checkOpen = (): void => {
    if (closed.signal.aborted) throw new Fault('the event store is closed')
  }
  const readWithFaults = async <T>(what: 'read' | 'readAll', read: () => Promise<T>): Promise<T> => {
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
      return process.call('store.append', write, { ...APPEND_FAULTS, orderingKey: stream })
    },
    read: (stream, from, max) => readWithFaults('read', () => direct.read(stream, from, max)),
    readAll: (after, max, categories) => readWithFaults('readAll', () => direct.readAll(after, max, categories)),
    follow(options) {
      checkOpen()
      return followInPages(process, direct, { ...options, signal: AbortSignal.any([options.signal, closed.signal]) })
    },
    close: async () => closed.abort(),
  }
}

async function* followInPages(
  process: SimulatedProcess,
  direct: EventStore,
  options: FollowOptions,
): AsyncGenerator<readonly StoredEvent[]> {
  const pages = streamWithFaults(process, 'store.follow', options.signal, (signal) => direct.follow({ ...options, signal }), {
    cut: 'followCut',
  })
  const prng = process.random.fork('follow')
  for await (const page of pages)
    for (let from = 0; from < page.length && !options.signal.aborted;) {
      // Splits some pages at random, because the port promises no page size.
      const until = prng.chance(0.2) ? prng.between(from + 1, page.length) : page.length
      yield page.slice(from, until)
      from = until
    }
}
