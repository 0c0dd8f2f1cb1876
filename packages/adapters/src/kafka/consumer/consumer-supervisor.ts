import { withJitter } from '@penstock/kernel/backoff.ts'
import { systemChance } from '../../system/chance.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import kafkajs, { type Consumer, type EachBatchHandler, type Kafka } from 'kafkajs'
import { type BusLog, endlessRetry, METADATA_MAX_AGE_MS } from '../client.ts'
import { recordAssignment } from '../kafka-metrics.ts'
import { type ConsumerGroup, type RebalanceListener, setRebalanceListener } from '../kafkajs-patches.ts'
import { createStallDetector, type UnreadOffsets } from './stall-detector.ts'

// Node cannot import the classes of this CommonJS package by name.
const { KafkaJSNonRetriableError, PartitionAssigners } = kafkajs

export type SupervisorOptions = {
  /** The names of group and topic at the brokers, with the prefix. */
  readonly groupId: string
  readonly topic: string
  readonly partitions: number
  /** Milliseconds without a heartbeat after which the brokers assign a member's partitions to others. */
  readonly sessionTimeoutMs: number
  /** A client is replaced after so many ms without activity, or without progress in a partition that has messages. */
  readonly stallTimeoutMs: number
  readonly clock: Clock
  readonly log: BusLog | undefined
}

export type ConsumerCallbacks = {
  readonly eachBatch: EachBatchHandler
  readonly rebalanceListener: RebalanceListener
  onAssigned(partitions: readonly number[]): void
  /** Read offsets of this client's idle partitions in which messages wait. */
  unreadOffsets(): UnreadOffsets
  /** Called when the brokers have confirmed the membership of the client. */
  onMember(): void
  /** Called when the client is abandoned, so that its partitions go to other members. */
  onEnded(): void
}

/** Maximum wait of a rebalance for messages in flight. A slower message may be handled twice, which its consumers detect. */
export const REBALANCE_DRAIN_MS = 3000
/** Maximum wait of a fetch for messages, in ms. It also bounds the delay of a close and of a resumed partition. */
const FETCH_WAIT_MS = 500
const RESTART_MS = 1000
/** Number of failed joins that log no warning, because brokers reject joins while they load their groups after a start. */
const QUIET_ATTEMPTS = 10

/**
 * Runs a consumer until the signal aborts. A new consumer replaces a consumer that crashed or hangs, and shares no state with it.
 * @returns a function that returns the current consumer
 */
export function superviseConsumer(
  kafka: Kafka,
  callbacks: ConsumerCallbacks,
  options: SupervisorOptions,
  stop: AbortSignal,
): () => Consumer | undefined {
  const { clock, log, groupId } = options
  let current: Consumer | undefined
  async function runConsumers(): Promise<void> {
    let earlyFailures = 0
    const levelOf = (hasJoined: boolean): 'info' | 'warn' => (!hasJoined && ++earlyFailures <= QUIET_ATTEMPTS ? 'info' : 'warn')
    while (!stop.aborted) {
      // A consumer that is stopped during its join would become a member that reads no partition.
      const isCurrent = (): boolean => current === consumer && !stop.aborted
      const listener = createConsumerListener(callbacks.rebalanceListener, isCurrent)
      const consumer = createConsumer(kafka, options, listener)
      current = consumer
      let hasJoined = false
      consumer.on('consumer.group_join', () => (hasJoined = true))
      const { reason, level } = await Promise.race([
        runConsumer(consumer, callbacks, options, isCurrent).then((endReason) => ({
          reason: endReason,
          level: levelOf(hasJoined),
        })),
        detectStall(consumer, options, () => callbacks.unreadOffsets(), stop).then(
          (endReason) => ({ reason: endReason, level: 'warn' }) as const,
        ),
      ])
      if (stop.aborted) return
      log?.[level]({ group: groupId, reason }, 'a consumer ended; starting a new one')
      current = undefined
      callbacks.onEnded()
      listener.afterRebalance()
      abandon(consumer)
      await clock.sleep(withJitter(RESTART_MS, systemChance), stop)
    }
  }
  void runConsumers()
  return () => current
}

/** @returns the reason of the end */
async function runConsumer(
  consumer: Consumer,
  callbacks: ConsumerCallbacks,
  { topic, partitions, groupId }: SupervisorOptions,
  isCurrent: () => boolean,
): Promise<string> {
  const crashed = Promise.withResolvers<string>()
  consumer.on('consumer.crash', ({ payload }) => crashed.resolve(payload.error.message))
  consumer.on('consumer.group_join', ({ payload }) => {
    if (!isCurrent()) return
    recordAssignment(groupId, topic)
    callbacks.onAssigned(payload.memberAssignment[topic] ?? [])
    callbacks.onMember()
  })
  consumer.on('consumer.heartbeat', () => {
    if (isCurrent()) callbacks.onMember()
  })
  try {
    await consumer.connect()
    // A group without committed offsets starts at the beginning of the log, so that it skips no command.
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: partitions,
      eachBatch: async (payload) => {
        if (isCurrent()) await callbacks.eachBatch(payload)
      },
    })
  } catch (error) {
    return String(error)
  }
  return crashed.promise
}

const abandon = (consumer: Consumer): void => void consumer.disconnect().catch(() => {})

type ConsumerListener = RebalanceListener & {
  /** Leaves the group if the client was abandoned during the join. Otherwise it would keep partitions without reading them. */
  afterJoin(group: ConsumerGroup): Promise<void>
  /** @throws KafkaJSNonRetriableError, which ends the client, if the client was abandoned */
  assertCurrent(): void
}

/**
 * Guards the rebalance hooks of one client. An abandoned client may retry its join for long, because kafkajs has no limit. Such a
 * client must not pause the processor any more, and its earlier pause ends when its successor replaces it.
 */
function createConsumerListener(listener: RebalanceListener, isCurrent: () => boolean): ConsumerListener {
  let hasPaused = false
  const assertCurrent = (): void => {
    if (!isCurrent()) throw new KafkaJSNonRetriableError('this client was abandoned')
  }
  return {
    assertCurrent,
    async beforeRebalance(group) {
      assertCurrent()
      hasPaused = true
      await listener.beforeRebalance(group)
      assertCurrent()
    },
    async afterJoin(group) {
      if (!isCurrent()) await group.leave().catch(() => {})
      assertCurrent()
    },
    afterRebalance() {
      if (!hasPaused) return
      hasPaused = false
      listener.afterRebalance()
    },
  }
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
    await clock.sleep(RESTART_MS, stop)
  }
  return 'stopped'
}

function createConsumer(kafka: Kafka, { groupId, sessionTimeoutMs }: SupervisorOptions, listener: ConsumerListener): Consumer {
  return kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: Math.floor(sessionTimeoutMs / 4),
    // Time for members to join a rebalance: both drain steps (handling and commit), and a second for the running fetch.
    rebalanceTimeout: Math.max(sessionTimeoutMs, 2 * REBALANCE_DRAIN_MS + 1000),
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    retry: { ...endlessRetry, restartOnFailure: async () => false },
    partitionAssigners: [
      (parts) => {
        setRebalanceListener(parts.cluster, listener)
        const assigner = PartitionAssigners.roundRobin(parts)
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
