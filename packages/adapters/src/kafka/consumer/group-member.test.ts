import { createRequire } from 'node:module'
import type { Kafka } from 'kafkajs'
import { expect, test } from 'vitest'
import { createVirtualSchedule } from '../../deterministic/virtual-schedule.ts'
import { createGroupMember, type MemberTopic } from './group-member.ts'
import type { PartitionOffset } from '../kafkajs/kafkajs-patches.ts'
import { createPartitionAssignment } from './partition-assignment.ts'

type Join = (this: object) => Promise<void>
const load = createRequire(import.meta.url)
const group = load('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: { joinAndSync: Join } } // untyped

type Listener = (event: { readonly payload: object }) => void
type Commit = (offsets: {
  readonly topics: readonly { readonly topic: string; readonly partitions: readonly PartitionOffset[] }[]
}) => Promise<void>
type Client = { emit(name: string, payload: object): void; becomeMember(commitOffsets: Commit): Promise<void> }

/** A member of a group, with fake clients that act only when the test calls them. Its time passes only in `waitFor`. */
async function startMember() {
  const schedule = createVirtualSchedule('group member', { stepLimit: 10_000 })
  const waitFor = async (condition: () => boolean): Promise<void> => {
    await schedule.run({ until: condition })
    expect(condition()).toBe(true)
  }
  const made: Client[] = []
  const kafka = {
    consumer({ partitionAssigners: [assigner] }: { partitionAssigners: readonly ((parts: object) => object)[] }) {
      const cluster = {}
      assigner?.({ cluster, groupId: 'g', logger: {} })
      let subscribed: readonly string[] = []
      const listeners: { readonly name: string; readonly listener: Listener }[] = []
      const emit = (event: string, payload: object): void => {
        for (const { name, listener } of listeners) if (name === `consumer.${event}`) listener({ payload })
      }
      const done = (): Promise<void> => Promise.resolve()
      made.push({
        emit,
        async becomeMember(commitOffsets) {
          await group.prototype.joinAndSync.call({ cluster, retrier: done, offsetManager: {}, commitOffsets })
          emit('group_join', { memberAssignment: Object.fromEntries(subscribed.map((topic) => [topic, [0]])) })
        },
      })
      const on = (name: string, listener: Listener): void => void listeners.push({ name, listener })
      const subscribe = async ({ topics }: { readonly topics: readonly string[] }): Promise<void> => void (subscribed = topics)
      return { on, connect: done, subscribe, run: done, disconnect: done }
    },
  }
  const processor = { accept: () => {}, pause: () => Promise.resolve(), resume: () => {} }
  const settings = { groupId: 'g', sessionTimeoutMs: 10_000, stallTimeoutMs: 120_000 }
  const options = { ...settings, clock: schedule.clock, log: undefined }
  const groupMember = createGroupMember(kafka as unknown as Kafka, options) // only what `superviseConsumer` uses
  const createTopic = (topic: string): MemberTopic => {
    const assignment = createPartitionAssignment()
    return { topic, partitions: 1, processor, assignment, waiting: () => new Map() }
  }
  const topic = createTopic('t')
  const { assignment } = topic
  const membership = groupMember.addTopic(topic)
  /** Reads one message and completes it. */
  const handle = (offset: number): void => {
    assignment.offsetsOf(0)?.add(offset)
    assignment.offsetsOf(0)?.complete(offset)
  }
  const replaceClient = async (): Promise<Client | undefined> => {
    made[0]?.emit('crash', { error: new Error('a broker died') })
    await waitFor(() => made.length === 2)
    return made[1]
  }
  const leave = async (): Promise<void> => {
    let hasLeft = false
    void membership.leave().then(() => (hasLeft = true))
    await waitFor(() => hasLeft)
  }
  await waitFor(() => made.length === 1)
  return {
    made,
    clock: schedule.clock,
    first: made[0],
    leave,
    handle,
    replaceClient,
    waitFor,
    groupMember,
    createTopic,
    membership,
  }
}

/** Records the committed offsets. */
function recordCommits() {
  const offsets: string[] = []
  const record: Commit = async ({ topics }) => {
    for (const { partitions } of topics) offsets.push(...partitions.map(({ offset }) => offset))
  }
  return { offsets, record }
}

test('a client commits while a commit of its predecessor hangs', async () => {
  const { first, leave, handle, replaceClient, waitFor } = await startMember()
  const [commits, { offsets, record }] = [recordCommits(), recordCommits()]
  await first?.becomeMember(async (offsets) => {
    await commits.record(offsets)
    await new Promise(() => {})
  })
  handle(4)
  await waitFor(() => commits.offsets.length > 0)
  const second = await replaceClient()
  await second?.becomeMember(record)
  handle(4)
  await waitFor(() => offsets.includes('5'))
  await leave()
})

test('a late commit of an abandoned client does not count for its successor', async () => {
  const { first, leave, handle, replaceClient, waitFor } = await startMember()
  const [commits, { offsets, record }] = [recordCommits(), recordCommits()]
  const commitEnd = Promise.withResolvers<void>()
  await first?.becomeMember(async (offsets) => {
    await commits.record(offsets)
    await commitEnd.promise
  })
  handle(4)
  await waitFor(() => commits.offsets.length > 0)
  const second = await replaceClient()
  await second?.becomeMember(record)
  commitEnd.resolve()
  await new Promise(setImmediate)
  handle(4)
  await waitFor(() => offsets.includes('5'))
  await leave()
})

test('a retry of a failed commit contains the partitions that are assigned at the retry', async () => {
  const { first, leave, handle, waitFor } = await startMember()
  const { offsets, record } = recordCommits()
  let fails = true
  let tries = 0
  await first?.becomeMember(async (offsets) => {
    tries++
    if (fails) throw new Error('the group is divided anew')
    await record(offsets)
  })
  handle(4)
  await waitFor(() => tries >= 2)
  first?.emit('group_join', { memberAssignment: { t: [] } })
  fails = false
  first?.emit('group_join', { memberAssignment: { t: [0] } })
  handle(7)
  await waitFor(() => offsets.length > 0)
  expect(offsets).toEqual(['8'])
  await leave()
})

test('one client reads all topics of a group, and a topic that leaves commits its progress', async () => {
  const { made, handle, waitFor, groupMember, createTopic, membership } = await startMember()
  const other = createTopic('other')
  const otherMembership = groupMember.addTopic(other)
  await made[0]?.becomeMember(async () => {})
  await waitFor(() => made.length === 2)
  const commits: string[] = []
  const record: Commit = async ({ topics }) => {
    for (const { topic, partitions } of topics) commits.push(...partitions.map(({ offset }) => `${topic}: ${offset}`))
  }
  await made[1]?.becomeMember(record)
  expect([membership.partitions(), otherMembership.partitions()]).toEqual([1, 1])
  handle(4)
  other.assignment.offsetsOf(0)?.add(7)
  other.assignment.offsetsOf(0)?.complete(7)
  await otherMembership.leave()
  expect(commits).toEqual(['t: 5', 'other: 8'])
  await waitFor(() => made.length === 3)
  await made[2]?.becomeMember(record)
  expect(membership.partitions()).toBe(1)
  expect(other.assignment.count()).toBe(0)
  let hasLeft = false
  void membership.leave().then(() => (hasLeft = true))
  await waitFor(() => hasLeft)
})

test('a group without topics has no client, and a topic that is added later starts one', async () => {
  const { made, leave, waitFor, groupMember, createTopic } = await startMember()
  await leave()
  const membership = groupMember.addTopic(createTopic('t'))
  await waitFor(() => made.length === 2)
  await made[1]?.becomeMember(async () => {})
  expect(membership.partitions()).toBe(1)
  let hasLeft = false
  void membership.leave().then(() => (hasLeft = true))
  await waitFor(() => hasLeft)
})

test('topics that close together end the client once, without another client for the last topic', async () => {
  const { made, clock, waitFor, groupMember, createTopic, membership } = await startMember()
  const otherMembership = groupMember.addTopic(createTopic('other'))
  await made[0]?.becomeMember(async () => {})
  await waitFor(() => made.length === 2)
  await made[1]?.becomeMember(async () => {})
  membership.stopIntake()
  otherMembership.stopIntake()
  await otherMembership.leave()
  let isLater = false
  void clock.sleep(10_000).then(() => (isLater = true))
  await waitFor(() => isLater)
  let hasLeft = false
  void membership.leave().then(() => (hasLeft = true))
  await waitFor(() => hasLeft)
  expect(made).toHaveLength(2)
})
