import type { PartitionOffset } from '../kafkajs/kafkajs-patches.ts'
import type { WaitingPartitions } from './group-lag.ts'
import { createInFlightOffsets, type InFlightOffsets } from './in-flight-offsets.ts'

export type PartitionAssignment = ReturnType<typeof createPartitionAssignment>

/** The partitions of a topic that are assigned to this process, with the offsets in flight and the committed offset of each. */
export function createPartitionAssignment() {
  let inFlight = new Map<number, InFlightOffsets>()
  let committed = new Map<number, number>()

  function renew(partition: number): InFlightOffsets {
    inFlight.get(partition)?.revoke()
    const offsets = createInFlightOffsets(partition)
    inFlight.set(partition, offsets)
    committed.delete(partition)
    return offsets
  }
  return {
    offsetsOf: (partition: number): InFlightOffsets | undefined => inFlight.get(partition),
    /** @returns the in-flight offsets for a batch; a new object if the log ends before the read offset */
    offsetsForBatch(partition: number, highWatermark: number): InFlightOffsets | undefined {
      const offsets = inFlight.get(partition)
      return offsets?.isBeyond(highWatermark) ? renew(partition) : offsets
    },
    /** Partitions that stay assigned keep their in-flight offsets. The in-flight offsets of lost partitions are revoked. */
    assign(partitions: readonly number[]): void {
      const [previous, previousCommitted] = [inFlight, committed]
      inFlight = new Map(partitions.map((partition) => [partition, previous.get(partition) ?? createInFlightOffsets(partition)]))
      committed = new Map([...previousCommitted].filter(([partition]) => inFlight.has(partition)))
      for (const [partition, offsets] of previous) if (!inFlight.has(partition)) offsets.revoke()
    },
    count: (): number => inFlight.size,
    /**
     * Read offsets of idle partitions whose log has later messages.
     * @param waiting the unread messages by the brokers' offsets
     */
    unreadOffsets: (waiting: WaitingPartitions): ReadonlyMap<number, number> =>
      new Map(
        [...inFlight.values()].flatMap((offsets) => {
          const backlog = waiting.get(offsets.partition)
          const offset = offsets.isIdle() ? (offsets.committableOffset() ?? backlog?.offset) : undefined
          return backlog === undefined || offset === undefined || offset >= backlog.high
            ? []
            : [[offsets.partition, offset] as const]
        }),
      ),
    uncommitted: (): PartitionOffset[] =>
      [...inFlight.values()].flatMap((offsets) => {
        const progress = offsets.committableOffset()
        if (progress === undefined || progress === committed.get(offsets.partition)) return []
        return [{ partition: offsets.partition, offset: String(progress) }]
      }),
    /** Whether no message is in flight, and every completed message is committed. */
    isSettled: (): boolean =>
      [...inFlight.values()].every(
        (offsets) => offsets.isIdle() && offsets.committableOffset() === committed.get(offsets.partition),
      ),
    recordCommitted(offsets: readonly PartitionOffset[]): void {
      for (const { partition, offset } of offsets) if (inFlight.has(partition)) committed.set(partition, Number(offset))
    },
  }
}
