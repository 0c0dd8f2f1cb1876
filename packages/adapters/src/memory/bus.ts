import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, ParkedKey } from '@penstock/ports/bus.ts'
import { dispatcher } from '../shared/dispatcher.ts'
import type { LaneSource, Sequenced } from '../shared/lane-source.ts'
import { type BusOptions, subscriptions } from '../shared/subscriptions.ts'
import { systemClock } from '../system/clock.ts'

type Parked = ParkedKey & { readonly queue: Sequenced[]; readonly replaying: boolean }

/** What survives when a memory bus is "restarted": give the same one to the next `memoryBus`. */
export type BusMemory = {
  readonly topics: Map<string, Sequenced[]>
  readonly progress: Map<string, number>
  readonly parked: Map<string, Parked>
}

export const busMemory = (): BusMemory => ({ topics: new Map(), progress: new Map(), parked: new Map() })

const nameOf = (...parts: readonly string[]): string => JSON.stringify(parts)

/** For tests: ordered per key and at least once like the others. Messages are kept for as long as the memory is. */
export function memoryBus(options: BusOptions = {}, memory: BusMemory = busMemory()): Bus {
  const { clock = systemClock } = options
  const now = (): number => clock.now()
  const running = subscriptions(async (group, topic, how) => dispatcher(laneSource(memory, group, topic, now), how), options)
  let closed = false

  return {
    async publish(topic, messages) {
      if (closed) throw new Fault('the bus is closed')
      const log = logOf(memory, topic)
      for (const message of messages) log.push({ ...message, seq: log.length + 1 })
      queueMicrotask(() => running.pump(new Set([topic])))
    },
    subscribe: (subscription) => running.subscribe(subscription),
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
      running.replay(group, topic, key)
      return parked.queue.length
    },
    async close() {
      closed = true
      await running.close()
    },
  }
}

function logOf({ topics }: BusMemory, topic: string): Sequenced[] {
  const log = topics.get(topic) ?? []
  topics.set(topic, log)
  return log
}

function laneSource(memory: BusMemory, group: string, topic: string, now: () => number): LaneSource {
  const log = logOf(memory, topic)
  const name = nameOf(group, topic)
  const parkedOf = (key: string): Parked | undefined => memory.parked.get(nameOf(group, topic, key))
  const enqueue = ({ queue }: Parked, message: Sequenced): void => {
    const [first] = queue
    // What lies before the first was handled before, and comes again after a crash.
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
