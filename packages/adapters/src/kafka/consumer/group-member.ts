import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { EachBatchPayload, Kafka } from 'kafkajs'
import { recordReceived } from '../kafka-metrics.ts'
import type { GroupLag } from './group-lag.ts'
import { REBALANCE_DRAIN_MS, superviseConsumer, type SupervisorOptions } from './consumer-supervisor.ts'
import { type ConsumerGroup, isStale } from '../kafkajs-patches.ts'
import type { createPartitionAssignment } from './partition-assignment.ts'
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

export type GroupMember = {
  /** Number of assigned partitions; 0 after a session timeout, because the brokers have assigned them to others. */
  partitions(): number
  /** Accepts no more messages, and stays in the group until the messages in flight are done. */
  stopIntake(): void
  /** Commits the progress and leaves the group. */
  leave(): Promise<void>
}

/** Maximum delay in ms of a fetch by a full partition, before that partition is paused. */
const PAUSE_GRACE_MS = 25
const COMMIT_EVERY_MS = 500
/**
 * Timeout in ms of a commit. The commit of a hanging client may never end, and the next client's commits must not wait for it.
 */
const COMMIT_TIMEOUT_MS = 5000
const LEAVE_TIMEOUT_MS = 5000

export type GroupMemberOptions = SupervisorOptions & Pick<GroupLag, 'waiting'>

/** Makes this process a member of a consumer group on one topic. It commits only offsets of completed messages. */
export function joinGroup(
  kafka: Kafka,
  processor: PartitionProcessor,
  assignment: ReturnType<typeof createPartitionAssignment>,
  options: GroupMemberOptions,
): GroupMember {
  const { topic, clock, groupId } = options
  const stopped = new AbortController()
  let isAccepting = true
  /** Kafkajs's group object of the current client, or of its predecessor until the current client joins. */
  let consumerGroup: ConsumerGroup | undefined
  let lastMemberAt = Number.NEGATIVE_INFINITY

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload
    if (!isAccepting) return void payload.pause()
    const offsets = isStale(batch) ? undefined : assignment.offsetsForBatch(batch.partition, Number(batch.highWatermark))
    if (!offsets) return
    recordReceived(groupId, topic, batch.messages.length)
    for (const message of batch.messages) processor.accept(toBusMessage(batch.partition, message), offsets)
    payload.resolveOffset(batch.lastOffset())
    if (!offsets.isFull()) return
    const room = offsets.waitForRoom()
    await withTimeout(clock, PAUSE_GRACE_MS, room).catch(() => {})
    if (offsets.isFull()) void room.then(payload.pause())
  }
  /**
   * Commits through the group object. The consumer object would retry without limit, and a retry after a rebalance would reset
   * the offset of another member.
   */
  async function commit(): Promise<void> {
    const [group, partitions] = [consumerGroup, assignment.uncommitted()]
    if (partitions.length === 0 || !group?.offsetManager) return
    await group.commitOffsets({ topics: [{ topic, partitions }] })
    if (consumerGroup === group) assignment.recordCommitted(partitions)
  }
  /** Drains the messages in flight and commits. Otherwise the next owner of a partition would read handled messages again. */
  async function beforeRebalance(group: ConsumerGroup): Promise<void> {
    consumerGroup = group
    await isDoneWithin(clock, stopped.signal, REBALANCE_DRAIN_MS, processor.pause())
    await isDoneWithin(clock, stopped.signal, REBALANCE_DRAIN_MS, commit())
  }
  const currentConsumer = superviseConsumer(
    kafka,
    {
      eachBatch,
      rebalanceListener: { beforeRebalance, afterRebalance: () => processor.resume() },
      onAssigned: (partitions) => assignment.assign(partitions),
      unreadOffsets: () => assignment.unreadOffsets(options.waiting()),
      onMember: () => void (lastMemberAt = clock.monotonicMs()),
      onEnded: () => assignment.assign([]),
    },
    options,
    stopped.signal,
  )
  void commitPeriodically(commit, options, stopped.signal)
  return {
    partitions: () => (clock.monotonicMs() - lastMemberAt > options.sessionTimeoutMs ? 0 : assignment.count()),
    stopIntake: () => void (isAccepting = false),
    async leave() {
      await isDoneWithin(clock, stopped.signal, LEAVE_TIMEOUT_MS, commit())
      const consumer = currentConsumer()
      stopped.abort()
      if (consumer) await withTimeout(clock, LEAVE_TIMEOUT_MS, consumer.disconnect()).catch(() => {})
    },
  }
}

async function commitPeriodically(commit: () => Promise<void>, options: SupervisorOptions, stopped: AbortSignal): Promise<void> {
  const { clock, log, groupId } = options
  while (!stopped.aborted) {
    await clock.sleep(COMMIT_EVERY_MS, stopped)
    await withTimeout(clock, COMMIT_TIMEOUT_MS, commit(), stopped).catch((error: unknown) =>
      log?.debug({ group: groupId, reason: String(error) }, 'committing offsets failed; retrying'),
    )
  }
}

/** @returns whether the promise resolved in time */
const isDoneWithin = (clock: Clock, stopped: AbortSignal, ms: number, done: Promise<unknown>): Promise<boolean> =>
  withTimeout(clock, ms, done, stopped).then(
    () => true,
    () => false,
  )
