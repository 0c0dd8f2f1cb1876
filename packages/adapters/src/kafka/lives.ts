import type { Clock } from '@penstock/ports/clock.ts'
import { type Consumer, type EachBatchHandler, type Kafka, PartitionAssigners } from 'kafkajs'
import { type BusLog, endlessRetry, METADATA_MS } from './client.ts'
import { noteAssigned } from './kafka-metrics.ts'
import { type Handover, onHandover } from './mends.ts'

export type LivesOptions = {
  /** As the brokers know them. */
  readonly groupId: string
  readonly topic: string
  readonly partitions: number
  /** After so long without a sign of life a member's partitions are given to others. */
  readonly sessionTimeoutMs: number
  readonly clock: Clock
  readonly log: BusLog | undefined
}

export type Life = {
  readonly eachBatch: EachBatchHandler
  readonly handover: Handover
  assigned(partitions: readonly number[]): void
  /** The brokers count it as a member now. */
  heard(): void
  /** It is no member any more; what it had is given to others. */
  ended(): void
}

/** The longest that a rebalance waits for what is in hand; longer work comes to be in two hands, which consumers notice. */
export const HANDOVER_MS = 3000
/** The longest that a fetch waits for messages: so long a close may take, and a resumed partition may rest. */
const FETCH_WAIT_MS = 500
const RESTART_MS = 1000
/** Without a sign of life for so long a client is made anew. */
const SILENCE_MS = 120_000

/**
 * Keeps a consumer alive until the signal: one that crashed or hangs is given up, and a new one begun, so that nothing
 * of the old one is left in it.
 * @returns the one that lives now
 */
export function lives(kafka: Kafka, life: Life, options: LivesOptions, stop: AbortSignal): () => Consumer | undefined {
  const { clock, log, groupId } = options
  let alive: Consumer | undefined
  async function liveOn(): Promise<void> {
    while (!stop.aborted) {
      const consumer = newConsumer(kafka, options, life.handover)
      alive = consumer
      const reason = await Promise.race([
        lived(consumer, life, options, () => alive === consumer),
        silence(consumer, clock, stop),
      ])
      if (stop.aborted) return
      log?.warn({ group: groupId, reason }, 'a consumer ended and is begun anew')
      alive = undefined
      life.ended()
      giveUp(consumer)
      await clock.sleep(RESTART_MS, stop)
    }
  }
  void liveOn()
  return () => alive
}

/** @returns why it ended */
async function lived(
  consumer: Consumer,
  life: Life,
  { topic, partitions, groupId }: LivesOptions,
  isAlive: () => boolean,
): Promise<string> {
  const ended = Promise.withResolvers<string>()
  consumer.on('consumer.crash', ({ payload }) => ended.resolve(payload.error.message))
  consumer.on('consumer.group_join', ({ payload }) => {
    if (!isAlive()) return
    noteAssigned(groupId, topic)
    life.assigned(payload.memberAssignment[topic] ?? [])
    life.heard()
  })
  // Given up while it could not reach the brokers it was no member that could leave; the client may become one yet (its
  // tries have no end), and would keep its partitions from everybody.
  consumer.on('consumer.heartbeat', () => (isAlive() ? life.heard() : giveUp(consumer)))
  try {
    await consumer.connect()
    // A group without a place in the log begins at its start: a command must never be passed over.
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: partitions,
      eachBatch: async (payload) => {
        if (isAlive()) await life.eachBatch(payload)
      },
    })
  } catch (error) {
    return String(error)
  }
  return ended.promise
}

const giveUp = (consumer: Consumer): void => void consumer.disconnect().catch(() => {})

/** Resolves when a consumer has not shown for long that it lives. */
async function silence(consumer: Consumer, clock: Clock, stop: AbortSignal): Promise<string> {
  let lastSign = clock.monotonicMs()
  const sign = (): void => void (lastSign = clock.monotonicMs())
  consumer.on('consumer.fetch', sign)
  consumer.on('consumer.heartbeat', sign)
  consumer.on('consumer.group_join', sign)
  while (!stop.aborted && clock.monotonicMs() - lastSign < SILENCE_MS) await clock.sleep(RESTART_MS, stop)
  return 'silence'
}

function newConsumer(kafka: Kafka, { groupId, sessionTimeoutMs }: LivesOptions, handover: Handover): Consumer {
  return kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: Math.floor(sessionTimeoutMs / 4),
    // So long may members take to come to a rebalance; a second for the fetch that is under way.
    rebalanceTimeout: Math.max(sessionTimeoutMs, 2 * HANDOVER_MS + 1000),
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MS,
    retry: { ...endlessRetry, restartOnFailure: async () => false },
    partitionAssigners: [
      (parts) => {
        onHandover(parts.cluster, handover)
        return PartitionAssigners.roundRobin(parts)
      },
    ],
  })
}
