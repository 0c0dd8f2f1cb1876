import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { createKafkaClient } from '@penstock/adapters/kafka/client.ts'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Views } from '@penstock/ports/views.ts'
import { readConfig } from '@penstock/config/config.ts'
import { consume } from '@penstock/runtime/consumers/consume.ts'
import type { Consumer } from '@penstock/runtime/consumers/consumer.ts'
import { CHAIN_START, sealFacts } from '@penstock/runtime/commands/event-codec.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { eventTopic, factToBus } from '@penstock/runtime/commands/messages.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { ConfigResourceTypes } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNumberedMessage } from './numbered-messages.ts'
import { getSharedBroker, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
/** The limit of each wait. On an idle machine, the slowest wait ends after about 10 s. */
const LIMIT_MS = 120_000
const FACTS = 40
const KEYS = Array.from({ length: 40 }, (_, n) => `key-${n}`)
const payhash = contractOf('payhash')
const times = { saveEveryMs: 20, moveEveryMs: 20, checkEveryMs: 20, lostAfterMs: 3_600_000 }

describe.skipIf(isKafkaMissing)('deleted topics', () => {
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

  it('lose no fact: a new replica reads unapplied facts from the store', async () => {
    const options = createBusOptions(getSharedBroker(), createPrefix())
    const store = memoryEventStore()
    const progress = await sqlProgress(views)
    const basePorts = {
      clock: systemClock,
      ids: systemIds(),
      limits: await sqlLimits(views),
      config: readConfig({}),
      log: openLogger('silent'),
    }
    const done = new Set<string>()
    /** @param stuck if true, the replica receives facts and never finishes one */
    const replica = async (stuck: boolean) => {
      const bus = await kafkaBus(views, options)
      const stop = new AbortController()
      const assigned: string[] = []
      const consumer: Consumer = {
        name: 'reader',
        owner: 'settlement',
        contracts: [payhash],
        lastRevision: () => Promise.resolve(undefined),
        async apply({ aggregateId }) {
          assigned.push(aggregateId)
          if (!stuck) return void done.add(aggregateId)
          await new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
          throw new Fault('it was killed')
        },
      }
      const running = await consume({ store, bus, progress, basePorts, times }, consumer, stop.signal)
      let ended: Promise<void> | undefined
      const end = async (): Promise<void> => {
        stop.abort()
        await running.close()
        await bus.close()
      }
      const close = (): Promise<void> => (ended ??= end())
      closing.push(close)
      return { bus, receivedIds: assigned, close }
    }
    const [stuck, busy] = [await replica(true), await replica(false)]
    const admin = createKafkaClient(options).admin()
    await admin.connect()
    closing.push(() => admin.disconnect())
    const areBothMembers = async (): Promise<boolean> => {
      const { groups } = await admin.describeGroups([`${options.prefix}reader`])
      return groups[0]?.state === 'Stable' && groups[0].members.length === 2
    }
    await waitUntil('both replicas have partitions', areBothMembers, LIMIT_MS)
    for (let n = 0; n < FACTS; n++) {
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
      const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
      const { events } = sealFacts({ stream: `payhash-${n}`, revision: 0, chain: CHAIN_START }, [{ id: `e${n}`, fact, meta }])
      await store.append(`payhash-${n}`, 'none', events)
    }
    const events = await store.readAll('start', FACTS)
    await busy.bus.publish(eventTopic('settlement'), events.map(factToBus))
    await waitUntil(
      'both have received facts',
      () => stuck.receivedIds.length > 0 && done.size + stuck.receivedIds.length >= FACTS,
      LIMIT_MS,
    )

    await admin.deleteTopics({ topics: (await admin.listTopics()).filter((topic) => topic.startsWith(options.prefix)) })
    // The stuck replica ends as if it were killed, without applying the facts that it received.
    const undone = new Set(stuck.receivedIds)
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

describe.skipIf(isKafkaMissing)('topics that change while they are in use', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => void (await Promise.all(closing.splice(0).map((close) => close()))))

  /** Starts a member that reads and publishes, and an admin client that changes its topic. */
  async function startTopicInUse() {
    const logLines: string[] = []
    const log = { debug: () => {}, info: () => {}, warn: (_: object, text: string) => void logLines.push(text) }
    const options = { ...createBusOptions(getSharedBroker(), createPrefix()), log }
    const { bus, close } = await openKafkaBus(options, ':memory:')
    const admin = createKafkaClient(options).admin()
    await admin.connect()
    closing.push(close, () => admin.disconnect())
    const received = new Set<string>()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async ({ id }) => (received.add(id), 'done') })
    const publish = (round: number): Promise<void> =>
      bus.publish(
        'load',
        KEYS.map((key) => createNumberedMessage(key, round)),
      )
    const hasAll = (round: number): boolean => KEYS.every((key) => received.has(`${key}/${round}`))
    await publish(0)
    await waitUntil('the first messages', () => hasAll(0), LIMIT_MS)
    return { admin, topic: `${options.prefix}load`, publish, hasAll, said: logLines, seen: received }
  }

  it('are created again with their settings after a deletion, and deliver later messages without a restart', async () => {
    const { admin, topic, publish, hasAll, said: logLines } = await startTopicInUse()
    await admin.deleteTopics({ topics: [topic] })
    // Publishing lasts long enough to create the topic again, so the publisher gets no error.
    await publish(1)
    await waitUntil('the messages that were published afterwards', () => hasAll(1), LIMIT_MS)
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    expect(topics[0]?.partitions).toHaveLength(4)
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
    })
    const values = Object.fromEntries(resources[0]?.configEntries.map((entry) => [entry.configName, entry.configValue]) ?? [])
    expect(values).toMatchObject({ 'message.timestamp.type': 'LogAppendTime' })
    expect(logLines).toContain('a topic was deleted while in use; it was created again')
  })

  it('are logged when partitions are added, and the new partitions are used', async () => {
    const { admin, topic, publish, hasAll, said: logLines } = await startTopicInUse()
    await admin.createPartitions({ topicPartitions: [{ topic, count: 8 }] })
    await waitUntil(
      'the new partitions are logged',
      () => logLines.some((text) => text.includes('partitions were added to a topic in use')),
      LIMIT_MS,
    )
    await publish(1)
    await waitUntil('all messages', () => hasAll(1), LIMIT_MS)
    const ends = await admin.fetchTopicOffsets(topic)
    expect(ends.filter(({ partition, high }) => partition >= 4 && Number(high) > 0)).not.toEqual([])
  })
})
