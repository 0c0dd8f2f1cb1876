import { commandToBus, factToBus } from '@penstock/runtime/commands/messages.ts'
import { ConfigResourceTypes, Kafka, type KafkaMessage, logLevel } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { getSharedBroker, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'

describe.skipIf(isKafkaMissing)('topics and messages, as other Kafka clients see them', () => {
  const client = () => new Kafka({ brokers: [...getSharedBroker().brokers], logLevel: logLevel.NOTHING })
  async function admin<T>(action: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
    const opened = client().admin()
    await opened.connect()
    try {
      return await action(opened)
    } finally {
      await opened.disconnect()
    }
  }

  it('are created as configured', async () => {
    const options = { ...createBusOptions(getSharedBroker(), createPrefix()), partitions: 7, retentionMs: 7_200_000 }
    const { bus, close } = await openKafkaBus(options, ':memory:')
    await bus.publish('made', [createNumberedMessage('a', 0)])
    await close()
    await admin(async (opened) => {
      const name = `${options.prefix}made`
      const { topics } = await opened.fetchTopicMetadata({ topics: [name] })
      expect(topics[0]?.partitions).toHaveLength(7)
      const { resources } = await opened.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name }],
      })
      const values = Object.fromEntries(resources[0]?.configEntries.map((entry) => [entry.configName, entry.configValue]) ?? [])
      expect(values).toMatchObject({
        'retention.ms': '7200000',
        'cleanup.policy': 'delete',
        'message.timestamp.type': 'LogAppendTime',
      })
    })
  })

  it('keep their number of partitions if the setting differs, and the difference is logged', async () => {
    const options = createBusOptions(getSharedBroker(), createPrefix())
    const name = `${options.prefix}found`
    await admin((opened) => opened.createTopics({ topics: [{ topic: name, numPartitions: 2 }], waitForLeaders: true }))
    const logEntries: object[] = []
    const log = { debug: () => {}, info: () => {}, warn: (fields: object) => void logEntries.push(fields) }
    const { bus, close } = await openKafkaBus({ ...options, log }, ':memory:')
    const received = new Set<string>()
    await bus.subscribe({ group: 'readers', topic: 'found', handle: async ({ id }) => (received.add(id), 'done') })
    const messages = Array.from({ length: 20 }, (_, n) => createNumberedMessage(`key-${n}`, 0))
    await bus.publish('found', messages)
    await pollUntil(() => received.size === 20, 'all messages')
    await close()
    expect(logEntries).toContainEqual({ topic: name, has: 2, configured: 4 })
    expect(await admin((opened) => opened.fetchTopicOffsets(name))).toHaveLength(2)
  })

  it('are CloudEvents 1.0 with revision, previous revision and trace, and the bus delivers them unchanged', async () => {
    const options = { ...createBusOptions(getSharedBroker(), createPrefix()), clientId: 'order' }
    const { bus, close } = await openKafkaBus(options, ':memory:')
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const fact = {
      id: 'b2c8f4a6-1d3e-5f70-9a8b-6c5d4e3f2a10',
      stream: 'order-42',
      type: 'OrderPlaced',
      revision: 3,
      position: 40n,
      data: '{"size":"1"}',
      meta: JSON.stringify({ trace }),
    }
    const command = commandToBus({
      id: '5b0e7a43-90d2-5c61-8f3a-c47d1e2b6a58',
      category: 'order',
      aggregateId: '42',
      type: 'Withdraw',
      v: 1,
      data: {},
      at: 1,
      notAfter: null,
      correlation: '42',
      trace,
    })
    const raw: KafkaMessage[] = []
    const consumer = client().consumer({ groupId: `${options.prefix}raw` })
    await consumer.connect()
    await bus.publish('seen', [factToBus(fact), command])
    await consumer.subscribe({ topic: `${options.prefix}seen`, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => void raw.push(message) })
    await pollUntil(() => raw.length === 2, 'both messages')
    await consumer.disconnect()
    const texts = raw.map(({ headers }) =>
      Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)])),
    )
    expect(texts[0]).toMatchObject({
      ce_specversion: '1.0',
      ce_id: fact.id,
      ce_source: '/order',
      ce_type: 'OrderPlaced',
      ce_subject: 'order-42',
      ce_partitionkey: '42',
      ce_revision: '3',
      ce_previous: '2',
      'content-type': 'application/json',
    })
    expect(texts[1]).toMatchObject({ ce_id: command.id, ce_trace: trace })
    expect(texts[1]?.['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
    expect(raw.map(({ key }) => String(key))).toEqual(['42', '42'])
    const received: unknown[] = []
    await bus.subscribe({ group: 'readers', topic: 'seen', handle: async (message) => (received.push(message), 'done') })
    await pollUntil(() => received.length === 2, 'both messages from the bus')
    expect(received).toEqual([factToBus(fact), command])
    await close()
  })
})
