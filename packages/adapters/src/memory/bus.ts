import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, ParkedKey } from '@penstock/ports/bus.ts'
import { createDispatcher } from '../shared/dispatcher.ts'
import type { KeyQueueSource, SequencedMessage } from '../shared/key-queue-source.ts'
import { type BusOptions, createSubscriptions } from '../shared/subscriptions.ts'
import { systemClock } from '../system/clock.ts'

type ParkedQueue = ParkedKey & { readonly queue: SequencedMessage[]; readonly replaying: boolean }

/** The state that survives a "restart" of a memory bus: pass the same one to the next `memoryBus`. */
export type BusMemory = {
  readonly topics: Map<string, SequencedMessage[]>
  readonly progress: Map<string, number>
  readonly parked: Map<string, ParkedQueue>
}

export const createBusMemory = (): BusMemory => ({ topics: new Map(), progress: new Map(), parked: new Map() })

const nameOf = (...parts: readonly string[]): string => JSON.stringify(parts)

/** A bus for tests. It delivers at least once and in order per key, like a durable bus. Messages last as long as `memory`. */
export function memoryBus(options: BusOptions = {}, memory: BusMemory = createBusMemory()): Bus {
  const { clock = systemClock } = options
  const now = (): number => clock.now()
  const activeSubscriptions = createSubscriptions(
    async (group, topic, dispatcherOptions) =>
      createDispatcher(createKeyQueueSource(memory, group, topic, now), dispatcherOptions),
    options,
  )
  let closed = false

  return {
    async publish(topic, messages) {
      if (closed) throw new Fault('the bus is closed')
      const log = logOf(memory, topic)
      for (const message of messages) log.push({ ...message, seq: log.length + 1 })
      queueMicrotask(() => activeSubscriptions.pump(new Set([topic])))
    },
    subscribe: (subscription) => activeSubscriptions.subscribe(subscription),
    async parked() {
      return [...memory.parked.values()].map(({ group, topic, key, reason, since, queue }) => ({
        group,
        topic,
        key,
        reason,
        since,
        messages: queue.length,
      }))
    },
    async replay({ group, topic, key }) {
      const name = nameOf(group, topic, key)
      const parked = memory.parked.get(name)
      if (!parked) return 0
      memory.parked.set(name, { ...parked, replaying: true })
      activeSubscriptions.replay(group, topic, key)
      return parked.queue.length
    },
    async close() {
      closed = true
      await activeSubscriptions.close()
    },
  }
}

function logOf({ topics }: BusMemory, topic: string): SequencedMessage[] {
  const log = topics.get(topic) ?? []
  topics.set(topic, log)
  return log
}

function createKeyQueueSource(memory: BusMemory, group: string, topic: string, now: () => number): KeyQueueSource {
  const log = logOf(memory, topic)
  const name = nameOf(group, topic)
  const parkedOf = (key: string): ParkedQueue | undefined => memory.parked.get(nameOf(group, topic, key))
  const enqueue = ({ queue }: ParkedQueue, message: SequencedMessage): void => {
    const [first] = queue
    // A message before the first parked one was handled already. It arrives again only because of a crash.
    if ((first && message.seq < first.seq) || queue.some(({ seq }) => seq === message.seq)) return
    queue.push(message)
  }
  return {
    read: (after, max) => log.slice(after, after + max),
    readKey: (key, after, until, max) =>
      log
        .slice(after, until)
        .filter((message) => message.key === key)
        .slice(0, max),
    progress: () => memory.progress.get(name) ?? 0,
    saveSoon: (progress) => queueMicrotask(() => memory.progress.set(name, progress())),
    saveNow: async (progress) => void memory.progress.set(name, progress),
    parkedKeys: () => [...memory.parked.values()].filter((parked) => parked.group === group && parked.topic === topic),
    async park(message, reason) {
      const { key } = message
      const parked = { group, topic, key, since: now(), messages: 0, queue: [], ...parkedOf(key), reason, replaying: false }
      enqueue(parked, message)
      memory.parked.set(nameOf(group, topic, key), parked)
    },
    async parkBehind(message) {
      const parked = parkedOf(message.key)
      if (parked) enqueue(parked, message)
      return parked !== undefined
    },
    firstParked: (key) => parkedOf(key)?.queue[0],
    async unpark(message) {
      const queue = parkedOf(message.key)?.queue ?? []
      const index = queue.findIndex(({ seq }) => seq === message.seq)
      if (index >= 0) queue.splice(index, 1)
    },
    async release(key) {
      const parked = parkedOf(key)
      if (parked && parked.queue.length > 0) return false
      memory.parked.delete(nameOf(group, topic, key))
      return true
    },
  }
}
