import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { type Kafka, type Message, type PartitionMetadata, Partitioners, type Producer } from 'kafkajs'
import { type BusLog, METADATA_MS } from './client.ts'
import { toCloudEvent } from './cloud-events.ts'
import type { Topics } from './topics.ts'
import { type Entry, outbox, type Send } from './outbox.ts'
import { notePublished } from './kafka-metrics.ts'

export type PublisherOptions = {
  readonly source: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly log: BusLog | undefined
}

/** Tries inside kafkajs, which knows what of a request is answered; then the outbox asks again. */
const TRIES = 5

/** Publishes durably: all replicas in sync have a message before `publish` resolves, and those of one key are in order. */
export function publisher(kafka: Kafka, topics: Topics, options: PublisherOptions) {
  const { clock, source, timeoutMs } = options
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MS,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { retries: TRIES, initialRetryTime: 100, maxRetryTime: 1000 },
  })
  const partitionOf = Partitioners.DefaultPartitioner()
  const send = sender(producer)
  const outboxes = new Map<string, ReturnType<typeof outbox>>()
  const outboxOf = (topic: string) => {
    const present = outboxes.get(topic) ?? outbox((entries) => send(topic, entries), options)
    outboxes.set(topic, present)
    return present
  }
  const entryOf = (topic: string, partitions: readonly PartitionMetadata[], message: BusMessage): Entry => {
    const headers = toCloudEvent(message, source, clock.now())
    const record: Message = { key: message.key, value: message.body, headers }
    const partition = partitionOf({ topic, partitionMetadata: [...partitions], message: record })
    return { partition, record: { ...record, partition } }
  }
  return {
    /** @throws Fault where the brokers have not confirmed it in time: it may be stored, or come to be */
    async publish(topic: string, messages: readonly BusMessage[]): Promise<void> {
      if (messages.length === 0) return
      const since = clock.monotonicMs()
      const stored = async (): Promise<void> => {
        const partitions = await withinTime(topics.ensure(topic), timeoutMs, clock, `topic ${topic} could not be looked up`)
        await outboxOf(topic).put(messages.map((message) => entryOf(topic, partitions, message)))
      }
      await notePublished(topic, messages.length, stored, () => (clock.monotonicMs() - since) / 1000)
    },
    async close(): Promise<void> {
      for (const box of outboxes.values()) box.close()
      await producer.disconnect()
    },
  }
}

/**
 * kafkajs resolves a batch although its answer lacks partitions whose leader changed meanwhile: messages would be lost that
 * were confirmed. So the answer is read, and only what it names counts.
 */
function sender(producer: Producer): (topic: string, entries: readonly Entry[]) => ReturnType<Send> {
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

async function withinTime<T>(work: Promise<T>, timeoutMs: number, clock: Clock, otherwise: string): Promise<T> {
  const over = new AbortController()
  const late = clock.sleep(timeoutMs, over.signal).then(() => {
    throw new Fault(otherwise)
  })
  late.catch(() => {})
  try {
    return await Promise.race([work, late])
  } catch (error) {
    if (error instanceof Fault || error instanceof Bug) throw error
    throw new Fault(`${otherwise}: ${String(error)}`)
  } finally {
    over.abort()
  }
}
