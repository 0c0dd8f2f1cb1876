import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { createSaver } from '@penstock/runtime/consumers/save-after-changes.ts'
import type { Assignment, EachBatchPayload, Kafka } from 'kafkajs'
import { recordReceived } from '../kafka-metrics.ts'
import type { GroupLag } from './group-lag.ts'
import {
  type ConsumerCallbacks,
  REBALANCE_DRAIN_MS,
  type SubscribedTopic,
  superviseConsumer,
  type SupervisorOptions,
} from './consumer-supervisor.ts'
import { type ConsumerGroup, isStale } from '../kafkajs/kafkajs-patches.ts'
import type { PartitionAssignment } from './partition-assignment.ts'
import type { UnreadOffsets } from './stall-detector.ts'
import { type ReceivedMessage, toBusMessage } from './to-bus-message.ts'
import type { InFlightOffsets } from './in-flight-offsets.ts'

/** Handles the messages of this member's partitions. */
export type PartitionProcessor = {
  accept(message: ReceivedMessage, offsets: InFlightOffsets): void
  /** Starts no more messages. Resolves when no message is in flight. */
  pause(): Promise<void>
  /** Starts messages again after a rebalance. */
  resume(): void
}

/** A topic that this process reads as a member of a group, and the handling of its messages. */
export type MemberTopic = SubscribedTopic & {
  readonly processor: PartitionProcessor
  readonly assignment: PartitionAssignment
  /** The partitions in which messages wait, by the brokers' offsets. */
  readonly waiting: GroupLag['waiting']
}

export type TopicMembership = {
  /** Number of assigned partitions; 0 after a session timeout, because the brokers have assigned them to others. */
  partitions(): number
  /** Accepts no more messages, and keeps the partitions until the messages in flight are done. */
  stopIntake(): void
  /** Commits the progress and gives up the partitions of the topic. */
  leave(): Promise<void>
}

/** The membership of this process in a consumer group. It exists while the process reads at least one topic. */
export type GroupMember = {
  readonly groupId: string
  addTopic(topic: MemberTopic): TopicMembership
}

/** Maximum delay in ms of a fetch by a full partition, before that partition is paused. */
const PAUSE_GRACE_MS = 25
const COMMIT_EVERY_MS = 1000
const COMMIT_IDLE_MS = 60_000
/**
 * Timeout in ms of a commit. The commit of a hanging client may never end, and the next client's commits must not wait for it.
 */
const COMMIT_TIMEOUT_MS = 5000
const LEAVE_TIMEOUT_MS = 5000

/** @returns a function that finds or creates the member of a group, by the group's name at the brokers */
export function createGroupMembers(kafka: Kafka, options: Omit<SupervisorOptions, 'groupId'>): (groupId: string) => GroupMember {
  const members = new Map<string, GroupMember>()
  return (groupId) => {
    const member = members.get(groupId) ?? createGroupMember(kafka, { ...options, groupId })
    members.set(groupId, member)
    return member
  }
}

/**
 * Makes this process a member of a consumer group once it reads a topic. One client reads all topics of the group. It commits
 * only offsets of completed messages.
 */
export function createGroupMember(kafka: Kafka, options: SupervisorOptions): GroupMember {
  const { clock, groupId, sessionTimeoutMs } = options
  const topics = new Map<string, MemberTopic>()
  const closingTopics = new Set<string>()
  let client: GroupClient | undefined
  return {
    groupId,
    addTopic(added) {
      const { topic, assignment } = added
      topics.set(topic, added)
      client ??= startClient(kafka, { topics, closingTopics }, options)
      client.updateTopics()
      const reader = client
      return {
        partitions: () => (clock.monotonicMs() - reader.lastMemberAt() > sessionTimeoutMs ? 0 : assignment.count()),
        stopIntake: () => void closingTopics.add(topic),
        async leave() {
          await isDoneWithin(clock, reader.stopped, LEAVE_TIMEOUT_MS, reader.commit())
          topics.delete(topic)
          assignment.assign([])
          closingTopics.delete(topic)
          const hasOpenTopics = [...topics.keys()].some((name) => !closingTopics.has(name))
          if (hasOpenTopics) return reader.updateTopics()
          // The other topics are being closed, too. The last one leaves the group.
          if (topics.size > 0) return
          client = undefined
          await reader.leaveGroup()
        },
      }
    },
  }
}

type GroupTopics = { readonly topics: ReadonlyMap<string, MemberTopic>; readonly closingTopics: ReadonlySet<string> }
type GroupClient = ReturnType<typeof startClient>

function startClient(kafka: Kafka, { topics, closingTopics }: GroupTopics, options: SupervisorOptions) {
  const { clock } = options
  const stop = new AbortController()
  let lastMemberAt = Number.NEGATIVE_INFINITY
  const { setGroup, commit } = createCommitter(topics)
  const commitSaver = createCommitSaver(topics, commit, options, stop.signal)
  const handleBatch = createBatchHandler({ topics, closingTopics }, options)

  /** Drains the messages in flight and commits. Otherwise the next owner of a partition would read handled messages again. */
  async function drain(): Promise<void> {
    const paused = Promise.all([...topics.values()].map(({ processor }) => processor.pause()))
    await isDoneWithin(clock, stop.signal, REBALANCE_DRAIN_MS, paused)
    await isDoneWithin(clock, stop.signal, REBALANCE_DRAIN_MS, commit())
  }
  const assign = (assignment: Assignment): void => {
    for (const member of topics.values()) member.assignment.assign(assignment[member.topic] ?? [])
  }
  const callbacks: ConsumerCallbacks = {
    topics: () => [...topics.values()],
    eachBatch(payload) {
      const handled = handleBatch(payload)
      commitSaver.noteChange()
      return handled
    },
    rebalanceListener: {
      beforeRebalance(group) {
        setGroup(group)
        return drain()
      },
      // A successor may already handle the topics of a stopped client.
      afterRebalance: () => {
        if (!stop.signal.aborted) topics.forEach(({ processor }) => processor.resume())
      },
    },
    onAssigned: assign,
    beforeRestart: drain,
    unreadOffsets: () => mergeUnreadOffsets(topics),
    onMember: () => void (lastMemberAt = clock.monotonicMs()),
    onEnded: () => assign({}),
  }
  const supervisor = superviseConsumer(kafka, callbacks, options, stop.signal)
  void commitSaver.run(stop.signal)
  return {
    commit,
    stopped: stop.signal,
    lastMemberAt: () => lastMemberAt,
    updateTopics: () => supervisor.updateTopics(),
    async leaveGroup() {
      const consumer = supervisor.current()
      stop.abort()
      const left = Promise.all([consumer?.disconnect(), supervisor.waitForPredecessor()])
      await withTimeout(clock, LEAVE_TIMEOUT_MS, left).catch(() => {})
    },
  }
}

/** Passes the messages of a batch to the processor of their topic. */
const createBatchHandler =
  ({ topics, closingTopics }: GroupTopics, { clock, groupId }: SupervisorOptions) =>
  async (payload: EachBatchPayload): Promise<void> => {
    const { batch } = payload
    const member = topics.get(batch.topic)
    if (!member || closingTopics.has(batch.topic)) return void payload.pause()
    const offsets = isStale(batch) ? undefined : member.assignment.offsetsForBatch(batch.partition, Number(batch.highWatermark))
    if (!offsets) return
    recordReceived(groupId, batch.topic, batch.messages.length)
    for (const message of batch.messages) member.processor.accept(toBusMessage(batch.partition, message), offsets)
    payload.resolveOffset(batch.lastOffset())
    if (!offsets.isFull()) return
    const room = offsets.waitForRoom()
    await withTimeout(clock, PAUSE_GRACE_MS, room).catch(() => {})
    if (offsets.isFull()) void room.then(payload.pause())
  }

/** Commits the progress in all topics of a group. */
function createCommitter(topics: GroupTopics['topics']) {
  /** Kafkajs's group object of the current client, or of its predecessor until the current client joins. */
  let consumerGroup: ConsumerGroup | undefined
  return {
    setGroup: (group: ConsumerGroup): void => void (consumerGroup = group),
    /**
     * Commits through the group object. The consumer object would retry without limit, and a retry after a rebalance would reset
     * the offset of another member.
     */
    commit: async (): Promise<void> => {
      const group = consumerGroup
      const uncommitted = [...topics.values()].flatMap(({ topic, assignment }) => {
        const partitions = assignment.uncommitted()
        return partitions.length === 0 ? [] : [{ topic, partitions, assignment }]
      })
      if (uncommitted.length === 0 || !group?.offsetManager) return
      await group.commitOffsets({ topics: uncommitted.map(({ topic, partitions }) => ({ topic, partitions })) })
      if (consumerGroup !== group) return
      for (const { assignment, partitions } of uncommitted) assignment.recordCommitted(partitions)
    },
  }
}

const mergeUnreadOffsets = (topics: GroupTopics['topics']): UnreadOffsets =>
  new Map(
    [...topics.values()].flatMap(({ topic, assignment, waiting }) =>
      [...assignment.unreadOffsets(waiting())].map(([partition, offset]) => [`${topic}/${partition}`, offset] as const),
    ),
  )

/** Commits the progress at intervals while messages are in flight or completed. */
const createCommitSaver = (
  topics: GroupTopics['topics'],
  commit: () => Promise<void>,
  { clock, log, groupId }: SupervisorOptions,
  stopped: AbortSignal,
) =>
  createSaver({
    clock,
    everyMs: COMMIT_EVERY_MS,
    idleMs: COMMIT_IDLE_MS,
    isIdle: () => [...topics.values()].every(({ assignment }) => assignment.isSettled()),
    save: () =>
      withTimeout(clock, COMMIT_TIMEOUT_MS, commit(), stopped).catch((error: unknown) =>
        log?.debug({ group: groupId, reason: String(error) }, 'committing offsets failed; retrying'),
      ),
  })

/** @returns whether the promise resolved in time */
const isDoneWithin = (clock: Clock, stopped: AbortSignal, ms: number, done: Promise<unknown>): Promise<boolean> =>
  withTimeout(clock, ms, done, stopped).then(
    () => true,
    () => false,
  )
