import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Kafka, PartitionMetadata } from 'kafkajs'
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

/**
 * Makes sure that a topic is there before it is used. One that was there before stays as it is: with other partitions, keys
 * would move, and lose their order. A difference is said.
 */
export function topicKeeper(kafka: Kafka, settings: TopicSettings, clock: Clock, log: BusLog | undefined) {
  const known = new Map<string, Promise<readonly PartitionMetadata[]>>()
  const admin = kafka.admin()
  let connected: Promise<void> | undefined

  async function look(topic: string): Promise<readonly PartitionMetadata[]> {
    await (connected ??= admin.connect())
    const isNew = !(await admin.listTopics()).includes(topic)
    // Others may be making it too: the client's own wait for leaders gives up where a broker does not know it yet.
    if (isNew) await admin.createTopics({ topics: [configured(topic, settings)], waitForLeaders: false })
    const partitions = await patiently(() => partitionsOf(topic))
    // The leaders are named before they lead, and what is published in between comes to be stored twice.
    await patiently(() => admin.fetchTopicOffsets(topic))
    if (partitions.length !== settings.partitions)
      log?.warn(
        { topic, has: partitions.length, configured: settings.partitions },
        'a topic has another number of partitions than is configured; it is used as it is and never divided anew',
      )
    return partitions
  }
  async function partitionsOf(topic: string): Promise<readonly PartitionMetadata[]> {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const partitions = topics.find(({ name }) => name === topic)?.partitions ?? []
    if (partitions.length === 0) throw new Error(`topic ${topic} has no partitions`)
    return partitions
  }
  /** It may have been made a moment ago: not every broker knows it at once. */
  async function patiently<T>(look: () => Promise<T>): Promise<T> {
    for (let looks = 1; ; looks++) {
      try {
        return await look()
      } catch (error) {
        if (looks === LOOKS) throw error
        await clock.sleep(LOOK_AGAIN_MS)
      }
    }
  }
  return {
    /**
     * @returns its partitions. @throws Fault where the brokers may answer later
     * @throws Error where it is not there and cannot be made
     */
    async ensure(topic: string): Promise<readonly PartitionMetadata[]> {
      const looking = known.get(topic) ?? look(topic)
      known.set(topic, looking)
      try {
        return await looking
      } catch (error) {
        known.delete(topic)
        connected = undefined
        throw mayPass(error) ? new Fault(error.message, { cause: error }) : error
      }
    },
    close: () => admin.disconnect(),
  }
}

/** The client's errors say of themselves whether another try is worth its while. */
const mayPass = (error: unknown): error is Error => error instanceof Error && 'retriable' in error && error.retriable === true

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
