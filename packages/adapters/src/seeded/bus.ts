import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, ParkedKey, RunningSubscription, Subscription } from '@penstock/ports/bus.ts'
import { deliver } from './delivery.ts'
import type { Disk } from './disk.ts'
import { type Group, join, leave, newGroup, offer, put } from './group.ts'
import type { Member } from './lanes.ts'
import type { CallOptions, Mortal } from './mortal.ts'
import type { Schedule } from './schedule.ts'

/** The broker that all processes share: topics, and how far each group is. It outlives every process. */
export type SeededBus = {
  of(process: Mortal, options?: SeededBusOptions): Bus
  /** All that was ever stored of a topic, in order. */
  topic(name: string): readonly BusMessage[]
  /**
   * Messages that some group has not handled yet, parked ones left out; groups without a subscriber count too.
   * @param left groups that nobody will ever join again
   */
  undelivered(left?: readonly string[]): number
  /** Every time that a key was set aside since the world began, also where it was put back since. */
  parkings(): readonly Omit<ParkedKey, 'messages'>[]
}

export type SeededBusOptions = {
  /** Back-off of a handler that throws: the first wait, doubled up to the last. */
  readonly retryMinMs?: number
  readonly retryMaxMs?: number
}

type Broker = {
  readonly schedule: Schedule
  readonly disk: Disk
  readonly topics: Map<string, BusMessage[]>
  readonly groups: Map<string, Group>
}

const DEFAULT_CONCURRENCY = 64
const PUBLISH = {
  fault: 'publishFault',
  unknown: 'publishUnknown',
  late: 'publishLate',
  orphan: 'publishOrphan',
} as const satisfies CallOptions

export function seededBus(schedule: Schedule, disk: Disk): SeededBus {
  const broker: Broker = { schedule, disk, topics: new Map(), groups: new Map() }
  return {
    of: (process, options) => busOf(broker, process, options),
    topic: (name) => broker.topics.get(name) ?? [],
    undelivered: (left = []) =>
      [...broker.groups.values()]
        .filter(({ name }) => !left.includes(name))
        .flatMap(({ lanes }) => [...lanes.values()])
        .reduce((sum, { queue, next, parked }) => sum + (parked ? 0 : queue.length - next), 0),
    parkings: () => [...broker.groups.values()].flatMap(({ parkings }) => parkings),
  }
}

function busOf(broker: Broker, process: Mortal, { retryMinMs = 25, retryMaxMs = 5000 }: SeededBusOptions = {}): Bus {
  const running = new Set<RunningSubscription>()
  const draws = process.random.fork('bus')
  let closed = false

  return {
    async publish(topic, messages) {
      if (closed) throw new Fault('the bus is closed')
      const write = (): void => {
        broker.disk.checkSpace(process)
        if (messages.length < 2 || !process.strikes('publishPartial')) return store(broker, topic, messages)
        store(broker, topic, messages.slice(0, draws.between(1, messages.length - 1)))
        throw new Fault('bus.publish: only the first messages were acknowledged')
      }
      await process.call('bus.publish', write, PUBLISH)
    },
    async subscribe(subscription) {
      if (closed) throw new Fault('the bus is closed')
      const started = await subscribed(broker, process, subscription, { first: retryMinMs, last: retryMaxMs })
      running.add(started)
      return started
    },
    parked: () => process.call('bus.parked', () => parkedKeys(broker)),
    replay: (key) => process.call('bus.replay', () => replay(broker, key)),
    async close() {
      closed = true
      await Promise.all([...running].map((subscription) => subscription.close()))
    },
  }
}

function store({ topics, groups }: Broker, topic: string, messages: readonly BusMessage[]): void {
  const log = topics.get(topic) ?? []
  topics.set(topic, log)
  for (const message of messages) {
    log.push(message)
    for (const group of groups.values()) if (group.topic === topic) put(group, message, deliver)
  }
}

async function subscribed(
  broker: Broker,
  process: Mortal,
  { group: name, topic, handle, aside, concurrency = DEFAULT_CONCURRENCY }: Subscription,
  retryMs: Member['retryMs'],
): Promise<RunningSubscription> {
  const member: Member = {
    process,
    handle,
    aside,
    concurrency,
    retryMs,
    running: 0,
    line: [],
    leaving: undefined,
    forget: () => undefined,
  }
  const group = await process.call('bus.subscribe', () => {
    const present = groupOf(broker, name, topic)
    join(present, member, deliver)
    return present
  })
  let closing: Promise<void> | undefined
  return { close: () => (closing ??= process.call('bus.leave', () => leave(group, member, deliver))) }
}

/** A group that is new sees the topic from its beginning. */
function groupOf({ schedule, topics, groups }: Broker, name: string, topic: string): Group {
  const id = JSON.stringify([name, topic])
  const present = groups.get(id)
  if (present) return present
  const group = newGroup(schedule, name, topic)
  groups.set(id, group)
  for (const message of topics.get(topic) ?? []) put(group, message, deliver)
  return group
}

const parkedKeys = ({ groups }: Broker) =>
  [...groups.values()].flatMap(({ name, topic, lanes }) =>
    [...lanes.values()].flatMap(({ key, queue, next, parked }) =>
      parked ? [{ group: name, topic, key, reason: parked.reason, since: parked.since, messages: queue.length - next }] : [],
    ),
  )

function replay({ groups }: Broker, { group: name, topic, key }: { group: string; topic: string; key: string }): number {
  const group = groups.get(JSON.stringify([name, topic]))
  const lane = group?.lanes.get(key)
  if (!group || !lane?.parked) return 0
  lane.parked = { ...lane.parked, replaying: true }
  offer(group, lane, deliver)
  return lane.queue.length - lane.next
}
