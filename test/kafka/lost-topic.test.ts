import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { kafkaClient } from '@penstock/adapters/kafka/client.ts'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { contractOf } from '@penstock/contracts/all.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Views } from '@penstock/ports/views.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { consume } from '@penstock/runtime/consume.ts'
import type { Consumer } from '@penstock/runtime/consumer.ts'
import { CHAIN_START, seal } from '@penstock/runtime/event-codec.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { eventTopic, factToBus } from '@penstock/runtime/messages.ts'
import { until } from '@penstock/testkit/until.ts'
import { ConfigResourceTypes } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { numbered } from './load.ts'
import { brokers, busOptions, noKafka, openBus, ownPrefix } from './servers.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const FACTS = 40
const KEYS = Array.from({ length: 40 }, (_, n) => `key-${n}`)
const payhash = contractOf('payhash')
const times = { saveEveryMs: 20, settleEveryMs: 20, lookEveryMs: 20, lostAfterMs: 3_600_000 }

describe.skipIf(noKafka)('topics that are lost', () => {
  const servers = brokers()
  let folder: string
  let views: Views
  const closing: (() => Promise<unknown>)[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-lost-'))
    views = openViews(join(folder, 'views.db'))
  })
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()))
    await views.close()
    await rm(folder, { recursive: true })
  })

  it('cost no fact: what one of two replicas had not done is read from the store', { timeout: 90_000 }, async () => {
    const options = busOptions(servers(), ownPrefix())
    const store = memoryEventStore()
    const progress = await sqlProgress(views)
    const basics = {
      clock: systemClock,
      ids: systemIds(),
      limits: await sqlLimits(views),
      config: readConfig({}),
      log: openLog('silent'),
    }
    const done = new Set<string>()
    /** @param stuck whether it never comes to an end with anything */
    const replica = async (stuck: boolean) => {
      const bus = await kafkaBus(views, options)
      const stop = new AbortController()
      const taken: string[] = []
      const consumer: Consumer = {
        name: 'reader',
        owner: 'settlement',
        contracts: [payhash],
        seen: () => Promise.resolve(undefined),
        async apply({ aggregateId }) {
          taken.push(aggregateId)
          if (!stuck) return void done.add(aggregateId)
          await new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
          throw new Fault('it was killed')
        },
      }
      const running = await consume({ store, bus, progress, basics, times }, consumer, stop.signal)
      let ended: Promise<void> | undefined
      const end = async (): Promise<void> => {
        stop.abort()
        await running.close()
        await bus.close()
      }
      const close = (): Promise<void> => (ended ??= end())
      closing.push(close)
      return { bus, taken, close }
    }
    const [stuck, busy] = [await replica(true), await replica(false)]
    const admin = kafkaClient(options).admin()
    await admin.connect()
    closing.push(() => admin.disconnect())
    const both = async (): Promise<boolean> => {
      const { groups } = await admin.describeGroups([`${options.prefix}reader@settlement.events`])
      return groups[0]?.state === 'Stable' && groups[0].members.length === 2
    }
    await until('each has its partitions', both, 30_000)
    for (let n = 0; n < FACTS; n++) {
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
      const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
      const { events } = seal({ stream: `payhash-${n}`, revision: 0, chain: CHAIN_START }, [{ id: `e${n}`, fact, meta }])
      await store.append(`payhash-${n}`, 'none', events)
    }
    const events = await store.readAll('start', FACTS)
    await busy.bus.publish(eventTopic('settlement'), events.map(factToBus))
    await until('each has its part', () => stuck.taken.length > 0 && done.size + stuck.taken.length >= FACTS, 30_000)

    await admin.deleteTopics({ topics: (await admin.listTopics()).filter((topic) => topic.startsWith(options.prefix)) })
    // The stuck one ends as if it were killed: nothing of what it had in hand was done.
    const undone = new Set(stuck.taken)
    await busy.close()
    await stuck.close()
    const before = done.size

    await replica(false)
    expect(undone.size).toBeGreaterThan(0)
    expect(before).toBeLessThan(FACTS)
    expect([...undone].filter((id) => !done.has(id))).toEqual([])
    expect(done.size).toBe(FACTS)
  })
})

describe.skipIf(noKafka)('topics that change while they are in use', () => {
  const servers = brokers()
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => void (await Promise.all(closing.splice(0).map((close) => close()))))

  /** A member that reads and publishes, and what a person at the brokers can do. */
  async function inUse() {
    const said: string[] = []
    const log = { debug: () => {}, info: () => {}, warn: (_: object, text: string) => void said.push(text) }
    const options = { ...busOptions(servers(), ownPrefix()), log }
    const { bus, close } = await openBus(options, ':memory:')
    const admin = kafkaClient(options).admin()
    await admin.connect()
    closing.push(close, () => admin.disconnect())
    const seen = new Set<string>()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async ({ id }) => (seen.add(id), 'done') })
    const publish = (round: number): Promise<void> =>
      bus.publish(
        'load',
        KEYS.map((key) => numbered(key, round)),
      )
    const hasAll = (round: number): boolean => KEYS.every((key) => seen.has(`${key}/${round}`))
    await publish(0)
    await until('the first messages', () => hasAll(0), 30_000)
    return { admin, topic: `${options.prefix}load`, publish, hasAll, said, seen }
  }

  it('one that is deleted is made again as it was, without a restart: what is published then arrives', async () => {
    const { admin, topic, publish, hasAll, said } = await inUse()
    await admin.deleteTopics({ topics: [topic] })
    // Within the time of one publish: who publishes notices nothing.
    await publish(1)
    await until('the messages that were published afterwards', () => hasAll(1), 60_000)
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    expect(topics[0]?.partitions).toHaveLength(4)
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
    })
    const values = Object.fromEntries(resources[0]?.configEntries.map((entry) => [entry.configName, entry.configValue]) ?? [])
    expect(values).toMatchObject({ 'message.timestamp.type': 'LogAppendTime' })
    expect(said).toContain('a topic was deleted while it was in use, and is made anew')
  })

  it('one that is divided anew is told of, and used as those use it that start afterwards', async () => {
    const { admin, topic, publish, hasAll, said } = await inUse()
    await admin.createPartitions({ topicPartitions: [{ topic, count: 8 }] })
    await until('it is said', () => said.some((text) => text.includes('was divided anew')), 30_000)
    await publish(1)
    await until('all messages', () => hasAll(1), 60_000)
    const ends = await admin.fetchTopicOffsets(topic)
    expect(ends.filter(({ partition, high }) => partition >= 4 && Number(high) > 0)).not.toEqual([])
  })
})
