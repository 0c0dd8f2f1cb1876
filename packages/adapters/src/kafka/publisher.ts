import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { RandomSource } from '@penstock/kernel/backoff.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { type Kafka, type Message, type PartitionMetadata, Partitioners, type Producer } from 'kafkajs'
import { type BusLog, METADATA_MAX_AGE_MS } from './client.ts'
import { toCloudEvent } from './cloud-events.ts'
import type { TopicManager } from './topics.ts'
import { createPartitioner, selectLane } from './kafkajs/partitioner.ts'
import { type OutboxEntry, createOutbox, type SendEntries } from './outbox.ts'
import { recordPublish } from './kafka-metrics.ts'

export type PublisherOptions = {
  readonly source: string
  readonly clock: Clock
  readonly chance: RandomSource
  readonly timeoutMs: number
  readonly log: BusLog | undefined
  /** Selects the messages of the low-priority lane. Without it, topics have no lanes. */
  readonly isLowPriority?: ((message: BusMessage) => boolean) | undefined
}

/** Number of retries by kafkajs, which sends only the unanswered part of a request again. After these the outbox retries. */
const RETRIES = 5

/**
 * Publishes durably: `publish` resolves once all in-sync replicas have the messages. Messages of one key and one priority keep
 * their order.
 */
export function createPublisher(kafka: Kafka, topics: TopicManager, options: PublisherOptions) {
  const { clock, source, isLowPriority } = options
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { retries: RETRIES, initialRetryTime: 100, maxRetryTime: 1000 },
  })
  const partitionOf = createPartitioner()
  const send = createSender(producer)
  const outboxes = new Map<string, ReturnType<typeof createOutbox>>()
  const outboxOf = (topic: string) => {
    const present = outboxes.get(topic) ?? createOutbox((entries) => send(topic, entries), options)
    outboxes.set(topic, present)
    return present
  }
  const entryOf = (topic: string, partitions: readonly PartitionMetadata[], message: BusMessage): OutboxEntry => {
    const headers = toCloudEvent(message, source, clock.now())
    const record: Message = { key: message.key, value: message.body, headers }
    const { length } = partitions
    const lane = isLowPriority ? selectLane(length, isLowPriority(message)) : { first: 0, count: length }
    const partition = partitionOf(topic, partitions, lane, record)
    return { partition, record: { ...record, partition } }
  }
  return {
    /** @throws Fault if the brokers do not confirm the messages in time; the messages may still be stored */
    async publish(topic: string, messages: readonly BusMessage[]): Promise<void> {
      if (messages.length === 0) return
      const startedMs = clock.monotonicMs()
      const storeMessages = async (): Promise<void> => {
        const partitions = await findPartitions(topics, topic, options)
        await outboxOf(topic).put(messages.map((message) => entryOf(topic, partitions, message)))
      }
      await recordPublish(topic, messages.length, storeMessages, () => (clock.monotonicMs() - startedMs) / 1000)
    },
    async close(): Promise<void> {
      for (const box of outboxes.values()) box.close()
      await producer.disconnect()
    },
  }
}

/**
 * Sends entries and reports which partitions are stored. kafkajs resolves a batch even if its answer lacks partitions whose
 * leader has changed. Only the partitions in the answer count, because the others' messages may be lost.
 */
function createSender(producer: Producer): (topic: string, entries: readonly OutboxEntry[]) => ReturnType<SendEntries> {
  let connected: Promise<void> | undefined
  return async (topic, entries) => {
    try {
      await (connected ??= producer.connect())
    } catch (error) {
      connected = undefined
      throw error
    }
    const answers = await producer.send({ topic, acks: -1, messages: entries.map(({ record }) => record) })
    return new Set(answers.filter(({ errorCode }) => errorCode === 0).map(({ partition }) => partition))
  }
}

/** @throws Fault with the name of the topic */
const findPartitions = (topics: TopicManager, topic: string, { clock, timeoutMs }: PublisherOptions) =>
  withTimeout(clock, timeoutMs, topics.ensure(topic)).catch((error: unknown) => {
    if (error instanceof Bug) throw error
    throw new Fault(`topic ${topic} could not be looked up: ${String(error)}`)
  })
