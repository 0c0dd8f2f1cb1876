import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { METADATA_MAX_AGE_MS } from '@penstock/adapters/kafka/client.ts'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOrderChecker, createNumberedMessage, startPublishing, pollUntil } from './numbered-messages.ts'
import { useOwnBrokers, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'

/** A batch spans many partitions: unpatched kafkajs loses confirmed messages of partitions whose leader changes. */
const PARTITIONS = 12
const keys = Array.from({ length: 60 }, (_, n) => `key-${n}`)

type Fetch = (this: object, nodeId: string) => Promise<object[]>
const load = createRequire(import.meta.url)
const group = load('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: { fetch: Fetch } } // untyped

/** Makes fetches from this broker hang for the first consumer that fetches. @returns a function that restores `fetch` */
function muteFetch(nodeId: number): () => void {
  const { fetch } = group.prototype
  const waiting = new Set<object>()
  group.prototype.fetch = function (asked) {
    if (asked === String(nodeId) && waiting.size === 0) waiting.add(this)
    return asked === String(nodeId) && waiting.has(this) ? new Promise(() => {}) : fetch.call(this, asked)
  }
  return () => void (group.prototype.fetch = fetch)
}

describe.skipIf(isKafkaMissing)('three brokers', () => {
  // These brokers are not shared, because a test kills each of them.
  const servers = useOwnBrokers({ nodes: 3 })
  let folder: string
  const closers: (() => Promise<void>)[] = []
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'penstock-brokers-'))))
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
    await rm(folder, { recursive: true })
  })

  const admin = () => new Kafka({ brokers: [...servers().brokers], logLevel: logLevel.NOTHING }).admin()
  async function committed(prefix: string): Promise<number> {
    const client = admin()
    try {
      await client.connect()
      const [topic] = await client.fetchOffsets({ groupId: `${prefix}readers`, topics: [`${prefix}load`] })
      return topic?.partitions.reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0) ?? 0
    } catch {
      // No reachable broker knows the group's coordinator at the moment.
      return 0
    } finally {
      await client.disconnect()
    }
  }

  it('lose no confirmed message and keep the order while they are killed one after the other', async () => {
    const options = { ...createBusOptions(servers(), createPrefix()), partitions: PARTITIONS, sessionTimeoutMs: 6000 }
    const file = join(folder, 'views.db')
    const checker = createOrderChecker()
    const members = [await openKafkaBus(options, file), await openKafkaBus(options, file), await openKafkaBus(options, file)]
    closers.push(...members.map(({ close }) => close))
    const [publisher, ...consumers] = members.map(({ bus }) => bus)
    if (!publisher) throw new Error('a member is missing')
    for (const bus of consumers)
      await bus.subscribe({
        group: 'readers',
        topic: 'load',
        handle: async (message) => {
          await checker.handle(message)
          return 'done'
        },
      })
    const load = startPublishing(publisher, 'load', keys, 100)
    await pollUntil(() => checker.total() > 1000, 'the first messages')
    const warnings: string[] = []
    const recordWarning = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', recordWarning)
    const resumeTimes: number[] = []
    for (const node of servers().nodes) {
      const before = load.total()
      await node.kill()
      resumeTimes.push(
        Math.round(await pollUntil(() => load.total() > before + 1000, `messages while node ${node.id} is down`, 60_000)),
      )
      // One of the three brokers is the group's coordinator. Members have to commit offsets also while this broker is down.
      const reached = checker.total()
      await pollUntil(async () => (await committed(options.prefix)) > reached, `offsets while node ${node.id} is down`, 60_000)
      await node.start()
      const back = load.total()
      await pollUntil(() => load.total() > back + 1000, `messages after the restart of node ${node.id}`, 60_000)
    }
    await load.stop()
    process.off('warning', recordWarning)
    const lag = await pollUntil(
      () => keys.every((key) => checker.handled(key) >= (load.acknowledged.get(key) ?? 0)),
      'all confirmed messages',
    )
    console.log(
      `${load.total()} confirmed, ${load.faults()} publishes in doubt, ${checker.repeats()} repeats; publishing resumed ${resumeTimes.join(', ')} ms after a kill; the last messages arrived after ${Math.round(lag)} ms`,
    )
    expect(checker.breaches).toEqual([])
    expect(warnings).toEqual([])
  })

  it('deliver the messages of other partitions while some partitions have no leader', async () => {
    // Without replicas, the partitions of a killed broker have no leader.
    const options = { ...createBusOptions(servers(), createPrefix()), partitions: PARTITIONS, replicas: 1 }
    const { bus, close } = await openKafkaBus(options, join(folder, 'views.db'))
    closers.push(close)
    const checker = createOrderChecker()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await checker.handle(message), 'done') })
    const publishEach = (n: number) => keys.map((key) => bus.publish('load', [createNumberedMessage(key, n)]))
    await Promise.all(publishEach(0))
    await pollUntil(() => checker.total() === keys.length, 'the first messages')
    const [, node] = servers().nodes
    if (!node) throw new Error('a broker is missing')
    await node.kill()
    // Clients read the leaders again when their metadata is outdated, so the messages of two such periods are awaited.
    const doubtful = new Set<string>()
    const until = Date.now() + 2 * METADATA_MAX_AGE_MS
    let n = 0
    let published: Promise<unknown>[] = []
    while (Date.now() < until) {
      published = publishEach(++n).map((publishing, index) => publishing.catch(() => doubtful.add(keys[index] ?? '')))
      const reached = n
      await pollUntil(
        () => keys.filter((key) => checker.handled(key) > reached).length >= keys.length / 2,
        `the messages of the other partitions after ${Math.round((until - Date.now()) / 1000)} s`,
        8000,
      )
    }
    await node.start()
    await Promise.all(published)
    await pollUntil(() => keys.every((key) => doubtful.has(key) || checker.handled(key) > n), 'the messages of all partitions')
    expect(checker.breaches).toEqual([])
  })

  it('are all read again by a new consumer if a fetch of the old consumer never ends', async () => {
    const reasons: unknown[] = []
    const log = { debug: () => {}, info: () => {}, warn: ({ reason }: { reason?: unknown }) => void reasons.push(reason) }
    const brief = { partitions: PARTITIONS, stallTimeoutMs: 5000, topicPollMs: 200, log }
    const { bus, close } = await openKafkaBus(
      { ...createBusOptions(servers(), createPrefix()), ...brief },
      join(folder, 'views.db'),
    )
    closers.push(close)
    const checker = createOrderChecker()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await checker.handle(message), 'done') })
    const publish = (n: number) =>
      bus.publish(
        'load',
        keys.map((key) => createNumberedMessage(key, n)),
      )
    await publish(0)
    await pollUntil(() => checker.total() === keys.length, 'the first messages')
    const unmute = muteFetch(servers().nodes[0]?.id ?? 0)
    closers.unshift(async () => unmute())
    reasons.length = 0
    await publish(1)
    await pollUntil(() => checker.total() === 2 * keys.length, 'the messages of all brokers', 60_000)
    expect(reasons[0]).toMatch(/^partition \S+load\/\d+ makes no progress$/)
    expect(checker.breaches).toEqual([])
  })
})
