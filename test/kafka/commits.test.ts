import { createRequire } from 'node:module'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, describe, expect, it } from 'vitest'
import { createOrderChecker, createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { getSharedBroker, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'

type Commit = (this: object, offsets?: object) => Promise<void>
const load = createRequire(import.meta.url)
const group = load('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: { commitOffsets: Commit } } // untyped

/** Makes all commits fail for the first consumer that commits, until the test calls `let`. */
function refuseCommits() {
  const { commitOffsets } = group.prototype
  const refusedGroups = new Set<object>()
  let isRefusing = true
  let commitCount = 0
  group.prototype.commitOffsets = async function (offsets) {
    if (isRefusing && refusedGroups.size === 0) refusedGroups.add(this)
    if (isRefusing && refusedGroups.has(this)) throw new Error('the coordinator is away')
    await commitOffsets.call(this, offsets)
    if (refusedGroups.has(this)) commitCount++
  }
  return {
    begun: () => refusedGroups.size > 0,
    let: () => void (isRefusing = false),
    /** The number of commits of this consumer after `let`. */
    committed: () => commitCount,
    end: () => void (group.prototype.commitOffsets = commitOffsets),
  }
}

const keys = Array.from({ length: 40 }, (_, n) => `key-${n}`)

describe.skipIf(isKafkaMissing)('the committed offsets of a group', () => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  it('do not go back if the commit of a member failed before a rebalance', async () => {
    const options = createBusOptions(getSharedBroker(), createPrefix())
    const checker = createOrderChecker()
    const join = async () => {
      const { bus, close } = await openKafkaBus(options, ':memory:')
      closers.push(close)
      await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await checker.handle(message), 'done') })
      return bus
    }
    const admin = new Kafka({ brokers: [...getSharedBroker().brokers], logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    closers.push(() => admin.disconnect())
    const [groupId, topic] = [`${options.prefix}readers`, `${options.prefix}load`]
    /** Counts the partitions of which the group has committed all messages. */
    async function countCommitted(): Promise<number> {
      // A new group has no coordinator yet.
      const [known] = await admin.fetchOffsets({ groupId, topics: [topic] }).catch(() => [])
      const ends = await admin.fetchTopicOffsets(topic)
      return ends.filter(({ partition, high }) =>
        known?.partitions.some((offset) => offset.partition === partition && offset.offset === high),
      ).length
    }
    const first = await join()
    const publish = (n: number) =>
      first.publish(
        'load',
        keys.map((key) => createNumberedMessage(key, n)),
      )
    await publish(0)
    await pollUntil(async () => (await countCommitted()) === options.partitions, 'the first messages are committed')
    const commits = refuseCommits()
    closers.unshift(async () => commits.end())
    await publish(1)
    await pollUntil(() => commits.begun(), 'a commit fails')
    await join()
    await publish(2)
    await pollUntil(async () => (await countCommitted()) === options.partitions / 2, 'the commits of the other member')
    commits.let()
    await pollUntil(() => commits.committed() > 0, 'the first member commits')
    await pollUntil(async () => (await countCommitted()) === options.partitions, 'all messages are committed')
    expect(checker.breaches).toEqual([])
  })
})
