import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Admin, Kafka, PartitionMetadata } from 'kafkajs'
import type { BusLog } from './client.ts'

export type TopicSettings = {
  /** How many members of a group can share a topic's work. */
  readonly partitions: number
  /** Copies of each message, at most as many as there are brokers. From 3 on, two must have a message before it counts. */
  readonly replicas: number
  readonly retentionMs: number
}

export type Topics = ReturnType<typeof topicKeeper>

const MOST_MESSAGE_BYTES = 4 * 1024 * 1024
const LOOK_AGAIN_MS = 100
const LOOKS = 600

type Partitions = readonly PartitionMetadata[]

/**
 * Makes sure that a topic is there before it is used, and afterwards. One that was there before stays as it is: with other
 * partitions, keys would move, and lose their order. A difference is said.
 */
export function topicKeeper(kafka: Kafka, settings: TopicSettings, clock: Clock, log: BusLog | undefined) {
  const known = new Map<string, Promise<Partitions>>()
  const found = new Map<string, Partitions>()
  const looking = new Set<Admin>()

  /** With a client of its own: one that has asked for a topic wants it ever after, and can do nothing once that is deleted. */
  async function look(topic: string): Promise<Partitions> {
    const admin = kafka.admin()
    looking.add(admin)
    try {
      await admin.connect()
      const isMade = await make(admin, topic, settings)
      if (isMade && found.has(topic)) log?.warn({ topic }, 'a topic was deleted while it was in use, and is made anew')
      const partitions = await patiently(clock, () => partitionsOf(admin, topic))
      // The leaders are named before they lead, and what is published in between comes to be stored twice.
      await patiently(clock, () => admin.fetchTopicOffsets(topic))
      if (partitions.length !== settings.partitions) sayOther(log, topic, partitions.length, settings.partitions)
      found.set(topic, partitions)
      return partitions
    } finally {
      looking.delete(admin)
      void admin.disconnect().catch(() => {})
    }
  }
  /**
   * @returns its partitions. @throws Fault where the brokers may answer later
   * @throws Error where it is not there and cannot be made
   */
  async function ensure(topic: string): Promise<Partitions> {
    const present = known.get(topic) ?? look(topic)
    known.set(topic, present)
    try {
      return await present
    } catch (error) {
      if (known.get(topic) === present) known.delete(topic)
      throw !(error instanceof Fault) && mayPass(error) ? new Fault(error.message, { cause: error }) : error
    }
  }
  /** Keys stand in other partitions from now on, for all publishers alike: those that start later know no other number. */
  function divided(topic: string, before: Partitions, partitions: Partitions): void {
    found.set(topic, partitions)
    known.set(topic, Promise.resolve(partitions))
    sayDivided(log, topic, before.length, partitions.length)
  }
  /** Whether each is still as it was found: one that was deleted is made anew. @throws Error where the brokers do not answer */
  async function review(admin: Admin): Promise<void> {
    for (const [topic, before] of found) {
      const partitions = await partitionsOf(admin, topic).catch(noneIfUnknown)
      if (partitions.length === before.length) continue
      if (partitions.length > 0) divided(topic, before, partitions)
      else {
        known.delete(topic)
        await ensure(topic)
      }
    }
  }
  const close = async (): Promise<void> => void (await Promise.allSettled([...looking].map((admin) => admin.disconnect())))
  return { ensure, review, close }
}

function sayOther(log: BusLog | undefined, topic: string, has: number, wanted: number): void {
  const text = 'a topic has another number of partitions than is configured; it is used as it is and never divided anew'
  log?.warn({ topic, has, configured: wanted }, text)
}

function sayDivided(log: BusLog | undefined, topic: string, had: number, has: number): void {
  const text =
    'a topic was divided anew while it is in use: keys have moved, and what of them is on its way may come out of order'
  log?.warn({ topic, had, has }, text)
}

/** @returns whether it was not there, and nobody else made it */
async function make(admin: Admin, topic: string, settings: TopicSettings): Promise<boolean> {
  if ((await admin.listTopics()).includes(topic)) return false
  try {
    // Others may be making it too: the client's own wait for leaders gives up where a broker does not know it yet.
    return await admin.createTopics({ topics: [configured(topic, settings)], waitForLeaders: false })
  } catch (error) {
    // Where services have users of their own, only its owner may make it, and will.
    if (isForbidden(error)) throw new Fault(`topic ${topic} is not there, or this process has no right to it`, { cause: error })
    throw error
  }
}

function isForbidden(error: unknown): boolean {
  const errors: readonly unknown[] =
    error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? error.errors : [error]
  return errors.some((one) => one instanceof Error && 'type' in one && one.type === 'TOPIC_AUTHORIZATION_FAILED')
}

async function partitionsOf(admin: Admin, topic: string): Promise<Partitions> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const partitions = topics.find(({ name }) => name === topic)?.partitions ?? []
  if (partitions.length === 0) throw new Error(`topic ${topic} has no partitions`)
  return partitions
}

/** It may have been made a moment ago: not every broker knows it at once. */
async function patiently<T>(clock: Clock, look: () => Promise<T>): Promise<T> {
  for (let looks = 1; ; looks++) {
    try {
      return await look()
    } catch (error) {
      if (looks === LOOKS) throw error
      await clock.sleep(LOOK_AGAIN_MS)
    }
  }
}

function noneIfUnknown(error: unknown): Partitions {
  if (error instanceof Error && 'type' in error && error.type === 'UNKNOWN_TOPIC_OR_PARTITION') return []
  throw error
}

/**
 * The client's errors say of themselves whether another try is worth its while; a broker that has just started answers
 * "unknown" for what it can do a moment later.
 */
const mayPass = (error: unknown): error is Error =>
  error instanceof Error && (('retriable' in error && error.retriable === true) || ('type' in error && error.type === 'UNKNOWN'))

function configured(topic: string, { partitions, replicas, retentionMs }: TopicSettings) {
  const entries = {
    'cleanup.policy': 'delete',
    'retention.ms': retentionMs,
    'min.insync.replicas': replicas >= 3 ? 2 : 1,
    'max.message.bytes': MOST_MESSAGE_BYTES,
    // The broker's clock: a parked key tells by it which of two messages came later.
    'message.timestamp.type': 'LogAppendTime',
  }
  return {
    topic,
    numPartitions: partitions,
    replicationFactor: replicas,
    configEntries: Object.entries(entries).map(([name, value]) => ({ name, value: String(value) })),
  }
}
