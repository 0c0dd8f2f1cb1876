import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { toCloudEvent } from '@penstock/adapters/kafka/cloud-events.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs'
import { compare, perSecond, quantile, type Row } from './harness.ts'

const PARTITIONS = 12
const BODY_BYTES = 1024
const KEYS = 1000
/** As the relay publishes. */
const BATCH = 500
const HOPS_A_SECOND = 200

export type BusExtent = { readonly rounds: number; readonly messages: number; readonly hops: number }

/** A way to use a topic: ours, and the bare client. */
type Side = {
  /** Makes a topic of its own. */
  topic(): Promise<string>
  publish(topic: string, from: number, count: number): Promise<unknown>
  /** `seen` is called with each message's number. @returns what ends it */
  read(topic: string, seen: (n: number) => void): Promise<() => Promise<void>>
}

const body = JSON.stringify({ text: 'x'.repeat(BODY_BYTES) })
const messageOf = (n: number): BusMessage => ({
  id: `m${n}`,
  key: `key-${n % KEYS}`,
  headers: { kind: 'bench', n: `${n}` },
  body,
})
/** What the bus writes beside a body; the bare client writes as much. */
const headers = toCloudEvent(messageOf(0), '/bench', Date.now())

/** Our bus beside the bare client, in the same run on the same broker. */
export async function compareBus(brokers: readonly string[], { rounds, messages, hops }: BusExtent): Promise<readonly Row[]> {
  const [mine, bare] = [await ourSide(brokers), await bareSide(brokers)]
  try {
    for (const side of [mine, bare]) await throughputs(side, Math.min(messages, 2000))
    const rates = await compare({
      rows: [
        { what: 'bus: publish, 500 messages of 1 KB at a time', unit: 'messages/s', target: 0.7 },
        { what: 'bus: read a backlog', unit: 'messages/s', target: 0.7 },
      ],
      measure: () => throughputs(mine, messages),
      reference: { name: 'kafkajs alone', measure: () => throughputs(bare, messages) },
      rounds,
    })
    const hop = await compare({
      rows: [
        { what: `bus: one hop at ${HOPS_A_SECOND}/s, p50`, unit: 'ms', most: 3 },
        { what: `bus: one hop at ${HOPS_A_SECOND}/s, p99`, unit: 'ms', most: 3 },
      ],
      measure: () => hopTimes(mine, hops),
      reference: { name: 'kafkajs alone', measure: () => hopTimes(bare, hops) },
      rounds,
    })
    return [...rates, ...hop]
  } finally {
    await Promise.all([mine.close(), bare.close()])
  }
}

async function throughputs(side: Side, messages: number): Promise<readonly number[]> {
  const topic = await side.topic()
  const published = await perSecond(messages, async () => {
    for (let from = 0; from < messages; from += BATCH) await side.publish(topic, from, Math.min(BATCH, messages - from))
  })
  // From the first message: how long a group takes to form is another matter.
  let count = 0
  let began = 0
  const all = Promise.withResolvers<void>()
  const end = await side.read(topic, () => {
    if (count === 0) began = performance.now()
    if (++count === messages) all.resolve()
  })
  await all.promise
  const read = ((messages - 1) * 1000) / (performance.now() - began)
  await end()
  return [published, read]
}

/** One message after the other at a steady rate; a late one does not hold up the next. */
async function hopTimes(side: Side, hops: number): Promise<readonly number[]> {
  const topic = await side.topic()
  const sentAt: number[] = []
  const taken: number[] = []
  const all = Promise.withResolvers<void>()
  const warmUp = Math.ceil(hops / 5)
  const total = warmUp + hops
  const joined = Promise.withResolvers<void>()
  const end = await side.read(topic, (n) => {
    if (n < 0) return joined.resolve()
    if (n >= warmUp) taken.push(performance.now() - (sentAt[n] ?? 0))
    if (n === total - 1) all.resolve()
  })
  // The first message shows that the group has formed.
  await side.publish(topic, -1, 1)
  await joined.promise
  const sending: Promise<unknown>[] = []
  const began = performance.now()
  for (let n = 0; n < total; n++) {
    const waitMs = began + (n * 1000) / HOPS_A_SECOND - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    sentAt[n] = performance.now()
    sending.push(side.publish(topic, n, 1))
  }
  await Promise.all([...sending, all.promise])
  await end()
  return [quantile(taken, 0.5), quantile(taken, 0.99)]
}

let topics = 0

async function ourSide(brokers: readonly string[]): Promise<Side & { close(): Promise<void> }> {
  const views = openViews(':memory:')
  const settings = { partitions: PARTITIONS, replicas: 1, retentionMs: 3_600_000, sessionTimeoutMs: 10_000 }
  const bus: Bus = await kafkaBus(views, { brokers, clientId: 'bench', prefix: 'ours.', ...settings })
  return {
    topic: async () => `t${++topics}`,
    publish: (topic, from, count) =>
      bus.publish(
        topic,
        Array.from({ length: count }, (_, n) => messageOf(from + n)),
      ),
    async read(topic, seen) {
      const handle = async ({ headers }: BusMessage): Promise<'done'> => {
        seen(Number(headers['n']))
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

async function bareSide(brokers: readonly string[]): Promise<Side & { close(): Promise<void> }> {
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'bench', logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  const producer: Producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await Promise.all([admin.connect(), producer.connect()])
  const recordOf = (n: number) => ({ key: `key-${n % KEYS}`, value: body, headers: { ...headers, ce_n: `${n}` } })
  return {
    async topic() {
      const topic = `bare.t${++topics}`
      await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }] })
      return topic
    },
    publish: (topic, from, count) =>
      producer.send({ topic, acks: -1, messages: Array.from({ length: count }, (_, n) => recordOf(from + n)) }),
    async read(topic, seen) {
      const consumer = kafka.consumer({ groupId: `bare-${topic}` })
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        partitionsConsumedConcurrently: PARTITIONS,
        eachMessage: async ({ message }) => seen(Number(String(message.headers?.['ce_n']))),
      })
      return () => consumer.disconnect()
    },
    async close() {
      await Promise.all([producer.disconnect(), admin.disconnect()])
    },
  }
}
