import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, ParkedKey, RunningSubscription, Subscription } from '@penstock/ports/bus.ts'
import { deliver } from './delivery.ts'
import type { Disk } from './disk.ts'
import {
  type GroupState,
  joinConsumerGroup,
  leaveConsumerGroup,
  createGroup,
  dispatchNext,
  enqueueMessage,
} from './consumer-group.ts'
import { type BusConsumer, createHandlerPool } from './group-key-queue.ts'
import type { CallOptions, SimulatedProcess } from './faults/crash-injection.ts'
import type { VirtualSchedule } from './virtual-schedule.ts'

/** The broker that all processes share. It stores the topics and the progress of groups, and outlives every process. */
export type DeterministicBus = {
  connect(process: SimulatedProcess, options?: DeterministicBusOptions): Bus
  /** All messages that were ever stored in a topic, in order. */
  topic(name: string): readonly BusMessage[]
  /** Number of unhandled messages over all groups, without those of parked keys. Groups without a subscriber count too. */
  undelivered(): number
  /** All parkings of keys since the start of the simulation, even of keys that were replayed since. */
  parkings(): readonly Omit<ParkedKey, 'messages'>[]
}

export type DeterministicBusOptions = {
  /** First wait in ms before a handler that threw is called again. The wait doubles up to `retryMaxMs`. */
  readonly retryMinMs?: number
  readonly retryMaxMs?: number
}

type Broker = {
  readonly schedule: VirtualSchedule
  readonly disk: Disk
  readonly topics: Map<string, BusMessage[]>
  readonly groups: Map<string, GroupState>
}

const DEFAULT_CONCURRENCY = 64
const PUBLISH_FAULTS = {
  fault: 'publishFault',
  answerLost: 'publishUnknown',
  late: 'publishLate',
  orphan: 'publishOrphan',
} as const satisfies CallOptions

export function deterministicBus(schedule: VirtualSchedule, disk: Disk): DeterministicBus {
  const broker: Broker = { schedule, disk, topics: new Map(), groups: new Map() }
  return {
    connect: (process, options) => busForProcess(broker, process, options),
    topic: (name) => broker.topics.get(name) ?? [],
    undelivered: () =>
      [...broker.groups.values()]
        .flatMap(({ keyQueues }) => [...keyQueues.values()])
        .reduce((sum, { messages, next, parked }) => sum + (parked ? 0 : messages.length - next), 0),
    parkings: () => [...broker.groups.values()].flatMap(({ parkings }) => parkings),
  }
}

function busForProcess(
  broker: Broker,
  process: SimulatedProcess,
  { retryMinMs = 25, retryMaxMs = 5000 }: DeterministicBusOptions = {},
): Bus {
  const running = new Set<RunningSubscription>()
  const prng = process.random.fork('bus')
  let closed = false

  return {
    async publish(topic, messages) {
      if (closed) throw new Fault('the bus is closed')
      const write = (): void => {
        broker.disk.checkSpace(process)
        if (messages.length < 2 || !process.isInjected('publishPartial')) return storeMessages(broker, topic, messages)
        storeMessages(broker, topic, messages.slice(0, prng.between(1, messages.length - 1)))
        throw new Fault('bus.publish: only the first messages were acknowledged')
      }
      await process.call('bus.publish', write, PUBLISH_FAULTS)
    },
    async subscribe(subscription) {
      if (closed) throw new Fault('the bus is closed')
      const started = await subscribeProcess(broker, process, subscription, { first: retryMinMs, last: retryMaxMs })
      running.add(started)
      return started
    },
    parked: () => process.call('bus.parked', () => listParkedKeys(broker)),
    replay: (key) => process.call('bus.replay', () => replayKey(broker, key)),
    async close() {
      closed = true
      await Promise.all([...running].map((subscription) => subscription.close()))
    },
  }
}

function storeMessages({ topics, groups }: Broker, topic: string, messages: readonly BusMessage[]): void {
  const log = topics.get(topic) ?? []
  topics.set(topic, log)
  for (const message of messages) {
    log.push(message)
    for (const group of groups.values()) if (group.topic === topic) enqueueMessage(group, message, deliver)
  }
}

async function subscribeProcess(
  broker: Broker,
  process: SimulatedProcess,
  { group: name, topic, handle, onSetAside, concurrency = DEFAULT_CONCURRENCY, isLowPriority }: Subscription,
  retryMs: BusConsumer['retryMs'],
): Promise<RunningSubscription> {
  const consumer: BusConsumer = {
    process,
    handle,
    aside: onSetAside,
    concurrency,
    yields: isLowPriority,
    retryMs,
    regularPool: createHandlerPool(),
    yieldingPool: createHandlerPool(),
    leaving: undefined,
    unsubscribe: () => undefined,
  }
  const group = await process.call('bus.subscribe', () => {
    const present = findOrCreateGroup(broker, name, topic)
    joinConsumerGroup(present, consumer, deliver)
    return present
  })
  let closing: Promise<void> | undefined
  return { close: () => (closing ??= process.call('bus.leave', () => leaveConsumerGroup(group, consumer, deliver))) }
}

/** Finds a group, or creates one that receives the topic from its beginning. */
function findOrCreateGroup({ schedule, topics, groups }: Broker, name: string, topic: string): GroupState {
  const id = JSON.stringify([name, topic])
  const present = groups.get(id)
  if (present) return present
  const group = createGroup(schedule, name, topic)
  groups.set(id, group)
  for (const message of topics.get(topic) ?? []) enqueueMessage(group, message, deliver)
  return group
}

const listParkedKeys = ({ groups }: Broker) =>
  [...groups.values()].flatMap(({ name, topic, keyQueues }) =>
    [...keyQueues.values()].flatMap(({ key, messages, next, parked }) =>
      parked ? [{ group: name, topic, key, reason: parked.reason, since: parked.since, messages: messages.length - next }] : [],
    ),
  )

function replayKey({ groups }: Broker, { group: name, topic, key }: { group: string; topic: string; key: string }): number {
  const group = groups.get(JSON.stringify([name, topic]))
  const keyQueue = group?.keyQueues.get(key)
  if (!group || !keyQueue?.parked) return 0
  keyQueue.parked = { ...keyQueue.parked, replaying: true }
  dispatchNext(group, keyQueue, deliver)
  return keyQueue.messages.length - keyQueue.next
}
