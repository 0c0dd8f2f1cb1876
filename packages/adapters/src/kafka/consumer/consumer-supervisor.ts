import { withJitter } from '@penstock/kernel/backoff.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { systemChance } from '../../system/chance.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Assignment, Consumer, EachBatchHandler, Kafka } from 'kafkajs'
import { type BusLog, endlessRetry, METADATA_MAX_AGE_MS } from '../client.ts'
import { recordAssignment } from '../kafka-metrics.ts'
import {
  HEARTBEATS_PER_SESSION,
  IDLE_FETCH_WAIT_MS,
  type RebalanceListener,
  setRebalanceListener,
} from '../kafkajs/kafkajs-patches.ts'
import { subscriptionAssigner } from '../kafkajs/partition-assigner.ts'
import { type ConsumerListener, createConsumerListener } from './consumer-listener.ts'
import { createStallDetector, type UnreadOffsets } from './stall-detector.ts'

/** A topic with its name at the brokers and its number of partitions. */
export type SubscribedTopic = { readonly topic: string; readonly partitions: number }

export type SupervisorOptions = {
  /** The name of the group at the brokers, with the prefix. */
  readonly groupId: string
  /** Milliseconds without a heartbeat after which the brokers assign a member's partitions to others. */
  readonly sessionTimeoutMs: number
  /** A client is replaced after so many ms without activity, or without progress in a partition that has messages. */
  readonly stallTimeoutMs: number
  readonly clock: Clock
  readonly log: BusLog | undefined
}

export type ConsumerCallbacks = {
  /** The topics of a new consumer. */
  topics(): readonly SubscribedTopic[]
  readonly eachBatch: EachBatchHandler
  readonly rebalanceListener: RebalanceListener
  /** Called with the assigned partitions of each topic. */
  onAssigned(assignment: Assignment): void
  /** Drains the messages in flight and commits, before a consumer with other topics replaces the current one. */
  beforeRestart(): Promise<void>
  /** Read offsets of this client's idle partitions in which messages wait. */
  unreadOffsets(): UnreadOffsets
  /** Called when the brokers have confirmed the membership of the client. */
  onMember(): void
  /** Called when the client is abandoned, so that its partitions go to other members. */
  onEnded(): void
}

/** Maximum wait of a rebalance for messages in flight. A slower message may be handled twice, which its consumers detect. */
export const REBALANCE_DRAIN_MS = 3000
const RESTART_MS = 1000
const STALL_CHECK_MS = 5000
/** Time in ms without a change of the topics before a consumer subscribes to them. A service subscribes to its topics one by one. */
const TOPICS_SETTLE_MS = 100
const DISCONNECT_TIMEOUT_MS = 5000
/** Number of failed joins that log no warning, because brokers reject joins while they load their groups after a start. */
const QUIET_ATTEMPTS = 10

export type ConsumerSupervisor = {
  current(): Consumer | undefined
  /** Replaces the current consumer by one with the present topics, once it has joined its group. */
  updateTopics(): void
  /** Resolves when the predecessor of the current consumer has left the group. */
  waitForPredecessor(): Promise<void>
}

/**
 * Runs a consumer until the signal aborts. A new consumer replaces a consumer that crashed or hangs, and shares no state with it.
 */
export function superviseConsumer(
  kafka: Kafka,
  callbacks: ConsumerCallbacks,
  options: SupervisorOptions,
  stop: AbortSignal,
): ConsumerSupervisor {
  const { clock, log, groupId } = options
  let current: Consumer | undefined
  let topicsVersion = 0
  let topicsChange = Promise.withResolvers<void>()
  let disconnected = Promise.resolve()

  async function waitForSettledTopics(): Promise<void> {
    for (let settled = -1; settled !== topicsVersion && !stop.aborted;) {
      settled = topicsVersion
      await clock.sleep(TOPICS_SETTLE_MS, stop)
    }
  }
  async function runConsumers(): Promise<void> {
    let earlyFailures = 0
    const levelOf = (hasJoined: boolean): 'info' | 'warn' => (!hasJoined && ++earlyFailures <= QUIET_ATTEMPTS ? 'info' : 'warn')
    await waitForSettledTopics()
    while (!stop.aborted) {
      // A consumer that is stopped during its join would become a member that reads no partition.
      const isCurrent = (): boolean => current === consumer && !stop.aborted
      const listener = createConsumerListener(callbacks.rebalanceListener, isCurrent)
      topicsChange = Promise.withResolvers<void>()
      const consumer = createConsumer(kafka, options, listener)
      current = consumer
      let hasJoined = false
      const joined = new Promise<void>((resolve) => void consumer.on('consumer.group_join', () => resolve()))
      void joined.then(() => (hasJoined = true))
      const end = await Promise.race([
        runConsumer(consumer, callbacks, options, isCurrent).then((reason) => ({ reason, level: levelOf(hasJoined) })),
        detectStall(consumer, options, () => callbacks.unreadOffsets(), stop).then(
          (reason) => ({ reason, level: 'warn' }) as const,
        ),
        // A client that is abandoned during its join may stay a member until its session ends.
        topicsChange.promise.then(() => joined).then(waitForSettledTopics),
      ])
      if (stop.aborted) return
      if (end) log?.[end.level]({ group: groupId, reason: end.reason }, 'a consumer ended; starting a new one')
      else await callbacks.beforeRestart()
      current = undefined
      callbacks.onEnded()
      listener.afterRebalance()
      disconnected = consumer.disconnect().catch(() => {})
      if (end) await clock.sleep(withJitter(RESTART_MS, systemChance), stop)
      // A member that has not left the group yet would delay the join.
      else await withTimeout(clock, DISCONNECT_TIMEOUT_MS, disconnected, stop).catch(() => {})
    }
  }
  void runConsumers()
  return {
    current: () => current,
    updateTopics(): void {
      topicsVersion++
      topicsChange.resolve()
    },
    waitForPredecessor: () => disconnected,
  }
}

/** @returns the reason of the end */
async function runConsumer(
  consumer: Consumer,
  callbacks: ConsumerCallbacks,
  { groupId }: SupervisorOptions,
  isCurrent: () => boolean,
): Promise<string> {
  const subscribed = callbacks.topics()
  const topics = subscribed.map(({ topic }) => topic)
  const crashed = Promise.withResolvers<string>()
  consumer.on('consumer.crash', ({ payload }) => crashed.resolve(payload.error.message))
  consumer.on('consumer.group_join', ({ payload }) => {
    if (!isCurrent()) return
    for (const topic of topics) recordAssignment(groupId, topic)
    callbacks.onAssigned(payload.memberAssignment)
    callbacks.onMember()
  })
  consumer.on('consumer.heartbeat', () => {
    if (isCurrent()) callbacks.onMember()
  })
  try {
    await consumer.connect()
    // A group without committed offsets starts at the beginning of the log, so that it skips no command.
    await consumer.subscribe({ topics, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: subscribed.reduce((sum, { partitions }) => sum + partitions, 0),
      eachBatch: async (payload) => {
        if (isCurrent()) await callbacks.eachBatch(payload)
      },
    })
  } catch (error) {
    return String(error)
  }
  return crashed.promise
}

/**
 * Resolves with a reason when a consumer stalls. A consumer that hangs at one broker is still active at other brokers, so
 * each partition is checked too.
 */
async function detectStall(
  consumer: Consumer,
  { clock, stallTimeoutMs }: SupervisorOptions,
  unreadOffsets: () => UnreadOffsets,
  stop: AbortSignal,
): Promise<string> {
  const partitions = createStallDetector()
  let lastActivityMs = clock.monotonicMs()
  const recordActivity = (): void => void (lastActivityMs = clock.monotonicMs())
  consumer.on('consumer.fetch', recordActivity)
  consumer.on('consumer.heartbeat', recordActivity)
  consumer.on('consumer.group_join', recordActivity)
  while (!stop.aborted) {
    const now = clock.monotonicMs()
    partitions.record(unreadOffsets(), now)
    const partition = partitions.findStalled(stallTimeoutMs, now)
    if (partition !== undefined) return `partition ${partition} makes no progress`
    if (now - lastActivityMs >= stallTimeoutMs) return 'no activity'
    await clock.sleep(Math.min(STALL_CHECK_MS, stallTimeoutMs / 10), stop)
  }
  return 'stopped'
}

function createConsumer(kafka: Kafka, { groupId, sessionTimeoutMs }: SupervisorOptions, listener: ConsumerListener): Consumer {
  const heartbeatInterval = Math.floor(sessionTimeoutMs / HEARTBEATS_PER_SESSION)
  return kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval,
    // A member notices a rebalance by a heartbeat, ends its fetches, drains its handlers and commits.
    rebalanceTimeout: Math.max(sessionTimeoutMs, heartbeatInterval + IDLE_FETCH_WAIT_MS + 2 * REBALANCE_DRAIN_MS),
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    retry: { ...endlessRetry, restartOnFailure: async () => false },
    partitionAssigners: [
      (parts) => {
        setRebalanceListener(parts.cluster, listener)
        const assigner = subscriptionAssigner(parts)
        // Kafkajs calls `protocol` at each attempt to join.
        const protocol: typeof assigner.protocol = (subscription) => {
          listener.assertCurrent()
          return assigner.protocol(subscription)
        }
        return { ...assigner, protocol }
      },
    ],
  })
}
