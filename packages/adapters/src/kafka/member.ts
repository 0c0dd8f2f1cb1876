import type { Clock } from '@penstock/ports/clock.ts'
import { within } from '@penstock/ports/within.ts'
import type { EachBatchPayload, Kafka } from 'kafkajs'
import { noteReceived } from './kafka-metrics.ts'
import { HANDOVER_MS, lives, type LivesOptions } from './lives.ts'
import { type ConsumerGroup, isStale } from './mends.ts'
import type { ownership } from './ownership.ts'
import { type Received, received } from './received.ts'
import type { Window } from './window.ts'

/** What is done with the messages of this member's partitions. */
export type MemberWork = {
  take(message: Received, window: Window): void
  /** Begins nothing more; resolves when nothing is in hand. */
  hold(): Promise<void>
  /** After the partitions were divided anew: goes on. */
  release(): void
}

export type Member = {
  /** Partitions that it has by the brokers' own rule: without a sign of life in time others have them. */
  partitions(): number
  /** Takes nothing more from now on, and stays in the group for what is in hand. */
  stopIntake(): void
  /** Leaves the group, with the progress kept. */
  leave(): Promise<void>
}

/** How long other messages of a fetch wait for a partition that is full, before it is paused. */
const PATIENCE_MS = 25
const COMMIT_EVERY_MS = 500
const LEAVE_MS = 5000

/** This process as a member of a consumer group on one topic. Its offsets move only over what is done. */
export function member(kafka: Kafka, work: MemberWork, owned: ReturnType<typeof ownership>, options: LivesOptions): Member {
  const { topic, clock, groupId } = options
  const over = new AbortController()
  let intake = true
  let heardAt = Number.NEGATIVE_INFINITY

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload
    if (!intake) return void payload.pause()
    const window = isStale(batch) ? undefined : owned.windowFor(batch.partition, Number(batch.highWatermark))
    if (!window) return
    noteReceived(groupId, topic, batch.messages.length)
    for (const message of batch.messages) work.take(received(batch.partition, message), window)
    payload.resolveOffset(batch.lastOffset())
    if (!window.isFull()) return
    const room = window.room()
    await within(clock, PATIENCE_MS, room).catch(() => {})
    if (window.isFull()) void room.then(payload.pause())
  }
  /** Without a commit in time the next owner reads a little again. */
  async function before(group: ConsumerGroup): Promise<void> {
    await inTime(clock, over.signal, HANDOVER_MS, work.hold())
    const partitions = owned.uncommitted()
    if (partitions.length === 0 || !group.offsetManager) return
    const saved = await inTime(clock, over.signal, HANDOVER_MS, group.commitOffsets({ topics: [{ topic, partitions }] }))
    if (saved) owned.noteCommitted(partitions)
  }
  const alive = lives(
    kafka,
    {
      eachBatch,
      handover: { before, after: () => work.release() },
      assigned: (partitions) => owned.assign(partitions),
      heard: () => void (heardAt = clock.monotonicMs()),
      ended: () => owned.assign([]),
    },
    options,
    over.signal,
  )
  async function commit(): Promise<void> {
    const offsets = owned.uncommitted()
    if (offsets.length === 0) return
    await alive()?.commitOffsets(offsets.map((offset) => ({ topic, ...offset })))
    owned.noteCommitted(offsets)
  }
  void keepProgress(commit, options, over.signal)
  return {
    partitions: () => (clock.monotonicMs() - heardAt > options.sessionTimeoutMs ? 0 : owned.count()),
    stopIntake: () => void (intake = false),
    async leave() {
      await inTime(clock, over.signal, LEAVE_MS, commit())
      const leaving = alive()
      over.abort()
      if (leaving) await within(clock, LEAVE_MS, leaving.disconnect()).catch(() => {})
    },
  }
}

async function keepProgress(commit: () => Promise<void>, options: LivesOptions, over: AbortSignal): Promise<void> {
  const { clock, log, groupId } = options
  while (!over.aborted) {
    await clock.sleep(COMMIT_EVERY_MS, over)
    await commit().catch((error: unknown) =>
      log?.debug({ group: groupId, reason: String(error) }, 'offsets were not committed; a restart reads a little more'),
    )
  }
}

/** @returns whether it was done, and in time */
const inTime = (clock: Clock, over: AbortSignal, ms: number, done: Promise<unknown>): Promise<boolean> =>
  within(clock, ms, done, over).then(
    () => true,
    () => false,
  )
