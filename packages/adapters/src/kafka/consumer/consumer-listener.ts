import kafkajs from 'kafkajs'
import type { ConsumerGroup, RebalanceListener } from '../kafkajs/kafkajs-patches.ts'

// Node cannot import the class of this CommonJS package by name.
const { KafkaJSNonRetriableError } = kafkajs

export type ConsumerListener = RebalanceListener & {
  /** Leaves the group if the client was abandoned during the join. Otherwise it would keep partitions without reading them. */
  afterJoin(group: ConsumerGroup): Promise<void>
  /** @throws KafkaJSNonRetriableError, which ends the client, if the client was abandoned */
  assertCurrent(): void
}

/**
 * Guards the rebalance hooks of one client. An abandoned client may retry its join for long, because kafkajs has no limit. Such a
 * client must not pause the processor any more, and its earlier pause ends when its successor replaces it.
 */
export function createConsumerListener(listener: RebalanceListener, isCurrent: () => boolean): ConsumerListener {
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
