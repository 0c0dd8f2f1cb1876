import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Admin, Kafka, PartitionMetadata } from 'kafkajs'
import type { BusLog } from './client.ts'

export type TopicSettings = {
  /** Number of partitions of a topic, and so the maximum number of members that can share its work. */
  readonly partitions: number
  /** Number of copies of each message, on as many brokers. With 3 or more, two replicas must store a message to confirm it. */
  readonly replicas: number
  readonly retentionMs: number
}

export type TopicManager = ReturnType<typeof createTopicManager>

const MAX_MESSAGE_BYTES = 4 * 1024 * 1024
const RETRY_MS = 100
const MAX_TRIES = 600

type Partitions = readonly PartitionMetadata[]

/**
 * Creates a topic before its first use, and recreates it if it is deleted. An existing topic keeps its number of partitions,
 * because otherwise keys would move and lose their order. A number that differs from the setting is logged.
 */
export function createTopicManager(kafka: Kafka, settings: TopicSettings, clock: Clock, log: BusLog | undefined) {
  const ensured = new Map<string, Promise<Partitions>>()
  const partitionsByTopic = new Map<string, Partitions>()
  const openAdmins = new Set<Admin>()

  /**
   * Uses a separate client. A client keeps requesting every topic that it has requested before, and fails for good once such a
   * topic is deleted.
   */
  async function lookUp(topic: string): Promise<Partitions> {
    const admin = kafka.admin()
    openAdmins.add(admin)
    try {
      await admin.connect()
      const isCreated = await createTopic(admin, topic, settings)
      if (isCreated && partitionsByTopic.has(topic))
        log?.warn({ topic }, 'a topic was deleted while in use; it was created again')
      const partitions = await retry(clock, () => partitionsOf(admin, topic))
      // Brokers report a leader before it can serve. A message published too early may be stored twice, so wait for the leaders.
      await retry(clock, () => admin.fetchTopicOffsets(topic))
      if (partitions.length !== settings.partitions) warnOfPartitionCount(log, topic, partitions.length, settings.partitions)
      partitionsByTopic.set(topic, partitions)
      return partitions
    } finally {
      openAdmins.delete(admin)
      void admin.disconnect().catch(() => {})
    }
  }
  /**
   * @returns the partitions of the topic. @throws Fault if the brokers may answer later
   * @throws Error if the topic is missing and cannot be created
   */
  async function ensure(topic: string): Promise<Partitions> {
    const present = ensured.get(topic) ?? lookUp(topic)
    ensured.set(topic, present)
    try {
      return await present
    } catch (error) {
      if (ensured.get(topic) === present) ensured.delete(topic)
      throw !(error instanceof Fault) && isRetriable(error) ? new Fault(error.message, { cause: error }) : error
    }
  }
  /**
   * Uses the new partitions from now on. All publishers have to map a key to the same partition, and publishers that start later
   * know only the new number of partitions.
   */
  function recordRepartitioning(topic: string, before: Partitions, partitions: Partitions): void {
    partitionsByTopic.set(topic, partitions)
    ensured.set(topic, Promise.resolve(partitions))
    warnOfRepartitioning(log, topic, before.length, partitions.length)
  }
  /**
   * Compares each topic with its last known number of partitions, and recreates a deleted topic.
   * @throws Error if the brokers do not answer
   */
  async function checkTopics(admin: Admin): Promise<void> {
    // One request suffices unless a topic is missing. A missing topic fails the request, and each topic is then requested alone.
    const byTopic = await fetchPartitions(admin, [...partitionsByTopic.keys()]).catch(() => new Map<string, Partitions>())
    for (const [topic, before] of partitionsByTopic) {
      const partitions = byTopic.get(topic) ?? (await partitionsOf(admin, topic).catch(emptyIfUnknown))
      if (partitions.length === before.length) continue
      if (partitions.length > 0) recordRepartitioning(topic, before, partitions)
      else {
        ensured.delete(topic)
        await ensure(topic)
      }
    }
  }
  const close = async (): Promise<void> => void (await Promise.allSettled([...openAdmins].map((admin) => admin.disconnect())))
  return { ensure, checkTopics, close }
}

function warnOfPartitionCount(log: BusLog | undefined, topic: string, has: number, wanted: number): void {
  const text = 'a topic has another number of partitions than configured; using it unchanged'
  log?.warn({ topic, has, configured: wanted }, text)
}

function warnOfRepartitioning(log: BusLog | undefined, topic: string, had: number, has: number): void {
  const text = 'partitions were added to a topic in use: keys have moved, and their pending messages may arrive out of order'
  log?.warn({ topic, had, has }, text)
}

/** @returns whether this call created the topic */
async function createTopic(admin: Admin, topic: string, settings: TopicSettings): Promise<boolean> {
  if ((await admin.listTopics()).includes(topic)) return false
  try {
    // Other processes may create the topic too. kafkajs must not wait for leaders here, because that wait fails while a broker
    // does not know the topic yet.
    return await admin.createTopics({ topics: [topicConfig(topic, settings)], waitForLeaders: false })
  } catch (error) {
    // With one user per service, only the service that owns the topic may create it, and it will do so.
    if (isForbidden(error)) throw new Fault(`topic ${topic} is not there, or this process has no right to it`, { cause: error })
    throw error
  }
}

function isForbidden(error: unknown): boolean {
  const errors: readonly unknown[] =
    error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? error.errors : [error]
  return errors.some((item) => item instanceof Error && 'type' in item && item.type === 'TOPIC_AUTHORIZATION_FAILED')
}

async function partitionsOf(admin: Admin, topic: string): Promise<Partitions> {
  const partitions = (await fetchPartitions(admin, [topic])).get(topic) ?? []
  if (partitions.length === 0) throw new Error(`topic ${topic} has no partitions`)
  return partitions
}

/** @throws Error if one of the topics is missing */
async function fetchPartitions(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, Partitions>> {
  // Without names, kafkajs would request all topics of the brokers.
  if (names.length === 0) return new Map()
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names] })
  return new Map(topics.map(({ name, partitions }) => [name, partitions]))
}

/** Retries a lookup, because some brokers learn of a new topic later than others. */
async function retry<T>(clock: Clock, lookUp: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await lookUp()
    } catch (error) {
      if (tries === MAX_TRIES) throw error
      await clock.sleep(RETRY_MS)
    }
  }
}

function emptyIfUnknown(error: unknown): Partitions {
  if (error instanceof Error && 'type' in error && error.type === 'UNKNOWN_TOPIC_OR_PARTITION') return []
  throw error
}

/**
 * Whether a retry may succeed. kafkajs marks its retriable errors. A broker that has just started answers UNKNOWN to requests
 * that succeed a moment later.
 */
const isRetriable = (error: unknown): error is Error =>
  error instanceof Error && (('retriable' in error && error.retriable === true) || ('type' in error && error.type === 'UNKNOWN'))

function topicConfig(topic: string, { partitions, replicas, retentionMs }: TopicSettings) {
  const entries = {
    'cleanup.policy': 'delete',
    'retention.ms': retentionMs,
    'min.insync.replicas': replicas >= 3 ? 2 : 1,
    'max.message.bytes': MAX_MESSAGE_BYTES,
    // Timestamps come from the broker's clock, because parked keys compare them to find the later message.
    'message.timestamp.type': 'LogAppendTime',
  }
  return {
    topic,
    numPartitions: partitions,
    replicationFactor: replicas,
    configEntries: Object.entries(entries).map(([name, value]) => ({ name, value: String(value) })),
  }
}
