import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { toCloudEvent } from '@penstock/adapters/kafka/cloud-events.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs'
import { compareToReference, measureRate, computeQuantile, type BenchmarkRow } from '../harness.ts'

const PARTITIONS = 12
const BODY_BYTES = 1024
const KEYS = 1000
/** The relay publishes batches of this size. */
const BATCH_SIZE = 500
const HOPS_PER_SECOND = 200

export type BusBenchmarkSize = { readonly rounds: number; readonly messages: number; readonly hops: number }

/** Access to a topic, through our bus or through the bare client. */
type TopicClient = {
  /** Creates a new topic. */
  topic(): Promise<string>
  publish(topic: string, from: number, count: number): Promise<unknown>
  /** Calls `onMessage` with each message's number. @returns a function that ends the subscription */
  read(topic: string, onMessage: (n: number) => void): Promise<() => Promise<void>>
}

const body = JSON.stringify({ text: 'x'.repeat(BODY_BYTES) })
const createMessage = (n: number): BusMessage => ({
  id: `m${n}`,
  key: `key-${n % KEYS}`,
  headers: { kind: 'bench', n: `${n}` },
  body,
})
/** The headers that the bus writes with each body. The bare client writes the same headers. */
const headers = toCloudEvent(createMessage(0), '/bench', Date.now())

/** Compares our bus with the bare client, in the same run on the same broker. */
export async function compareBus(
  brokers: readonly string[],
  { rounds, messages, hops }: BusBenchmarkSize,
): Promise<readonly BenchmarkRow[]> {
  const [penstock, kafkajs] = [await openPenstockClient(brokers), await openKafkajsClient(brokers)]
  try {
    for (const client of [penstock, kafkajs]) await measureThroughputs(client, Math.min(messages, 2000))
    const rates = await compareToReference({
      rows: [
        { description: 'bus: publish, 500 messages of 1 KB at a time', unit: 'messages/s', target: 0.7 },
        { description: 'bus: read a backlog', unit: 'messages/s', target: 0.7 },
      ],
      measure: () => measureThroughputs(penstock, messages),
      reference: { name: 'kafkajs alone', measure: () => measureThroughputs(kafkajs, messages) },
      rounds,
    })
    const hop = await compareToReference({
      rows: [
        { description: `bus: one hop at ${HOPS_PER_SECOND}/s, p50`, unit: 'ms', maxRatio: 3 },
        { description: `bus: one hop at ${HOPS_PER_SECOND}/s, p99`, unit: 'ms', maxRatio: 3 },
      ],
      measure: () => measureHops(penstock, hops),
      reference: { name: 'kafkajs alone', measure: () => measureHops(kafkajs, hops) },
      rounds,
    })
    return [...rates, ...hop]
  } finally {
    await Promise.all([penstock.close(), kafkajs.close()])
  }
}

async function measureThroughputs(client: TopicClient, messages: number): Promise<readonly number[]> {
  const topic = await client.topic()
  const published = await measureRate(messages, async () => {
    for (let from = 0; from < messages; from += BATCH_SIZE)
      await client.publish(topic, from, Math.min(BATCH_SIZE, messages - from))
  })
  // The measurement starts at the first message, so it excludes the forming of the consumer group.
  let count = 0
  let startedAt = 0
  const all = Promise.withResolvers<void>()
  const end = await client.read(topic, () => {
    if (count === 0) startedAt = performance.now()
    if (++count === messages) all.resolve()
  })
  await all.promise
  const read = ((messages - 1) * 1000) / (performance.now() - startedAt)
  await end()
  return [published, read]
}

/** Sends single messages at a steady rate. A slow message does not delay the next one. @returns p50 and p99 in ms */
async function measureHops(client: TopicClient, hops: number): Promise<readonly number[]> {
  const topic = await client.topic()
  const sentAt: number[] = []
  const hopsMs: number[] = []
  const all = Promise.withResolvers<void>()
  const warmUp = Math.ceil(hops / 5)
  const total = warmUp + hops
  const joined = Promise.withResolvers<void>()
  const end = await client.read(topic, (n) => {
    if (n < 0) return joined.resolve()
    if (n >= warmUp) hopsMs.push(performance.now() - (sentAt[n] ?? 0))
    if (n === total - 1) all.resolve()
  })
  // The first message shows that the group has formed.
  await client.publish(topic, -1, 1)
  await joined.promise
  const sending: Promise<unknown>[] = []
  const startedAt = performance.now()
  for (let n = 0; n < total; n++) {
    const waitMs = startedAt + (n * 1000) / HOPS_PER_SECOND - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    sentAt[n] = performance.now()
    sending.push(client.publish(topic, n, 1))
  }
  await Promise.all([...sending, all.promise])
  await end()
  return [computeQuantile(hopsMs, 0.5), computeQuantile(hopsMs, 0.99)]
}

let topicCount = 0

async function openPenstockClient(brokers: readonly string[]): Promise<TopicClient & { close(): Promise<void> }> {
  const views = openViews(':memory:')
  const settings = { partitions: PARTITIONS, replicas: 1, retentionMs: 3_600_000, sessionTimeoutMs: 10_000 }
  const bus: Bus = await kafkaBus(views, { brokers, clientId: 'bench', prefix: 'ours.', ...settings })
  return {
    topic: async () => `t${++topicCount}`,
    publish: (topic, from, count) =>
      bus.publish(
        topic,
        Array.from({ length: count }, (_, n) => createMessage(from + n)),
      ),
    async read(topic, onMessage) {
      const handle = async ({ headers }: BusMessage): Promise<'done'> => {
        onMessage(Number(headers['n']))
        return 'done'
      }
      const running = await bus.subscribe({ group: 'readers', topic, handle })
      return () => running.close()
    },
    async close() {
      await bus.close()
      await views.close()
    },
  }
}

async function openKafkajsClient(brokers: readonly string[]): Promise<TopicClient & { close(): Promise<void> }> {
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'bench', logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  const producer: Producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await Promise.all([admin.connect(), producer.connect()])
  const recordOf = (n: number) => ({ key: `key-${n % KEYS}`, value: body, headers: { ...headers, ce_n: `${n}` } })
  return {
    async topic() {
      const topic = `bare.t${++topicCount}`
      await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }] })
      return topic
    },
    publish: (topic, from, count) =>
      producer.send({ topic, acks: -1, messages: Array.from({ length: count }, (_, n) => recordOf(from + n)) }),
    async read(topic, onMessage) {
      const consumer = kafka.consumer({ groupId: `bare-${topic}` })
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        partitionsConsumedConcurrently: PARTITIONS,
        eachMessage: async ({ message }) => onMessage(Number(String(message.headers?.['ce_n']))),
      })
      return () => consumer.disconnect()
    },
    async close() {
      await Promise.all([producer.disconnect(), admin.disconnect()])
    },
  }
}
