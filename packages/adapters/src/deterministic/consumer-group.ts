import type { BusMessage, ParkedKey } from '@penstock/ports/bus.ts'
import {
  doneCountOf,
  clearOwner,
  handlerPoolFor,
  isBusy,
  isDeliverable,
  commitDone,
  type GroupKeyQueue,
  type BusConsumer,
  createGroupKeyQueue,
} from './group-key-queue.ts'
import type { Prng } from './prng.ts'
import type { VirtualSchedule } from './virtual-schedule.ts'

/** The consumers that share the messages of one group and topic. One consumer at a time handles a key. */
export type GroupState = {
  readonly name: string
  readonly topic: string
  readonly keyQueues: Map<string, GroupKeyQueue>
  readonly consumers: Set<BusConsumer>
  /** All parkings of keys since the start of the simulation, even of keys that were replayed since. */
  readonly parkings: Omit<ParkedKey, 'messages'>[]
  readonly schedule: VirtualSchedule
  readonly prng: Prng
  /** Decides which messages overtake low-priority messages. */
  readonly overtakingPrng: Prng
}

const MAX_CRASH_DETECTION_MS = 10_000

export const createGroup = (schedule: VirtualSchedule, name: string, topic: string): GroupState => ({
  name,
  topic,
  keyQueues: new Map(),
  consumers: new Set(),
  parkings: [],
  schedule,
  prng: schedule.random.fork(`group/${name}/${topic}`),
  overtakingPrng: schedule.random.fork(`group/${name}/${topic}/overtaking`),
})

export function enqueueMessage(group: GroupState, message: BusMessage, worker: DeliveryWorker): void {
  const keyQueue = group.keyQueues.get(message.key) ?? createGroupKeyQueue(message.key)
  group.keyQueues.set(message.key, keyQueue)
  keyQueue.messages.splice(findPlace(group, keyQueue, message), 0, message)
  dispatchNext(group, keyQueue, worker)
}

const OVERTAKING_CHANCE = 0.5

/** Kafka stores low-priority messages apart, so another message of the key may overtake those that wait. */
function findPlace({ consumers, overtakingPrng }: GroupState, keyQueue: GroupKeyQueue, message: BusMessage): number {
  const { messages, next, parked } = keyQueue
  const [consumer] = consumers
  const hasLowPriority = (one: BusMessage | undefined): boolean => one !== undefined && consumer?.yields?.(one) === true
  let place = messages.length
  if (parked || hasLowPriority(message)) return place
  // The next message may be in hand.
  while (place > next + 1 && hasLowPriority(messages[place - 1])) place--
  return place < messages.length && overtakingPrng.chance(OVERTAKING_CHANCE) ? place : messages.length
}

/** Delivers the next message of a key to the key's owner. */
export type DeliveryWorker = (group: GroupState, keyQueue: GroupKeyQueue, owner: BusConsumer) => void

/** Delivers the next message of a key to its owner, or to a consumer that the seed picks. The key waits for a free handler. */
export function dispatchNext(group: GroupState, keyQueue: GroupKeyQueue, worker: DeliveryWorker): void {
  notifySetAside(group, keyQueue)
  if (!isDeliverable(keyQueue)) return
  const activeConsumers = [...group.consumers].filter(({ leaving }) => !leaving)
  if (activeConsumers.length === 0) return
  keyQueue.owner ??= group.prng.pick(activeConsumers)
  const { owner } = keyQueue
  const pool = handlerPoolFor(owner, keyQueue.messages[keyQueue.next])
  keyQueue.pool = pool
  if (pool.running >= owner.concurrency) {
    keyQueue.state = 'waiting'
    pool.waiting.push(keyQueue)
    return
  }
  pool.running++
  keyQueue.state = 'in-hand'
  worker(group, keyQueue, owner)
}

/** Notifies a consumer of the messages that wait behind a parked one. */
function notifySetAside(group: GroupState, keyQueue: GroupKeyQueue): void {
  if (!keyQueue.parked || keyQueue.parked.replaying) return
  const first = doneCountOf(keyQueue) + 1
  const waiting = keyQueue.messages.slice(Math.max(keyQueue.notified, first) - keyQueue.committed)
  const consumer = [...group.consumers].find(({ leaving }) => !leaving)
  if (!consumer || waiting.length === 0) return
  keyQueue.notified = keyQueue.committed + keyQueue.messages.length
  const notify = (): void => waiting.forEach((message) => consumer.aside?.(message))
  consumer.process.later(consumer.process.latencyMs('bus.aside'), notify, 'bus.aside')
}

const dispatchAll = (group: GroupState, worker: DeliveryWorker): void => {
  for (const keyQueue of group.keyQueues.values()) dispatchNext(group, keyQueue, worker)
}

/** Frees a handler of the consumer and gives it the next waiting key. A leaving consumer is removed after its last message. */
export function releaseWorker(
  group: GroupState,
  consumer: BusConsumer,
  pool: GroupKeyQueue['pool'],
  worker: DeliveryWorker,
): void {
  if (pool) pool.running--
  const keyQueue = pool?.waiting.shift()
  if (keyQueue) {
    keyQueue.state = 'idle'
    dispatchNext(group, keyQueue, worker)
  }
  if (consumer.leaving && !isBusy(consumer)) removeConsumer(group, consumer, worker)
}

/** Adds a consumer, which may take over idle keys of other consumers. */
export function joinConsumerGroup(group: GroupState, consumer: BusConsumer, worker: DeliveryWorker): void {
  group.consumers.add(consumer)
  consumer.unsubscribe = consumer.process.onCrash(() => handleCrash(group, consumer, worker))
  for (const keyQueue of group.keyQueues.values())
    if ((keyQueue.state === 'idle' || keyQueue.state === 'resting') && group.prng.chance(1 / group.consumers.size))
      clearOwner(keyQueue)
  dispatchAll(group, worker)
}

/** Stops deliveries to the consumer. Resolves once its messages in progress are done and committed. */
export function leaveConsumerGroup(group: GroupState, consumer: BusConsumer, worker: DeliveryWorker): Promise<void> {
  if (!group.consumers.has(consumer)) return Promise.resolve()
  if (consumer.leaving) return consumer.leaving.promise
  consumer.leaving = Promise.withResolvers<void>()
  for (const pool of [consumer.regularPool, consumer.yieldingPool]) pool.waiting = []
  const { promise } = consumer.leaving
  for (const keyQueue of keyQueuesOf(group, consumer))
    if (keyQueue.state !== 'in-hand') {
      commitDone(keyQueue, doneCountOf(keyQueue))
      clearOwner(keyQueue)
    }
  dispatchAll(group, worker)
  if (!isBusy(consumer)) removeConsumer(group, consumer, worker)
  return promise
}

function removeConsumer(group: GroupState, consumer: BusConsumer, worker: DeliveryWorker): void {
  for (const keyQueue of keyQueuesOf(group, consumer)) {
    commitDone(keyQueue, doneCountOf(keyQueue))
    clearOwner(keyQueue)
  }
  group.consumers.delete(consumer)
  consumer.unsubscribe()
  consumer.leaving?.resolve()
  dispatchAll(group, worker)
}

/** Delivers messages in progress and uncommitted messages to other consumers, once the group notices the crash. */
function handleCrash(group: GroupState, consumer: BusConsumer, worker: DeliveryWorker): void {
  group.consumers.delete(consumer)
  for (const keyQueue of group.keyQueues.values()) keyQueue.notified = 0
  for (const keyQueue of keyQueuesOf(group, consumer)) {
    if (keyQueue.state === 'in-hand' || keyQueue.next > 0) consumer.process.faults.count('delivered again after a death')
    keyQueue.next = 0
    clearOwner(keyQueue)
  }
  group.schedule.later(
    group.prng.between(0, MAX_CRASH_DETECTION_MS),
    () => dispatchAll(group, worker),
    `${group.name} notices a death`,
  )
}

const keyQueuesOf = (group: GroupState, consumer: BusConsumer): readonly GroupKeyQueue[] =>
  [...group.keyQueues.values()].filter(({ owner }) => owner === consumer)
