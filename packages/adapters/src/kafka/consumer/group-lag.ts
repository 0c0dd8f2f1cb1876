import type { Clock } from '@penstock/ports/clock.ts'

/** The first and the next offset of a partition's log at the brokers, and the group's committed offset if it has one. */
type PartitionState = {
  readonly partition: number
  readonly low: number
  readonly high: number
  readonly committedOffset: number | undefined
}

/** The offset of the group and the end of the log, for each partition in which messages wait. */
export type WaitingPartitions = ReadonlyMap<number, { readonly offset: number; readonly high: number }>

export type GroupLag = ReturnType<typeof createGroupLag>

/** Age in ms from which a measurement is outdated. */
const FRESH_MS = 60_000

/**
 * The lag of a group in its topic: the messages after the group's committed offsets at the brokers. Every process gets the same
 * value, independent of running members and their messages in flight.
 */
export function createGroupLag(clock: Clock) {
  /** The group's offset in each partition in which messages wait, and the time (monotonic ms) since which it has not moved. */
  let positions = new Map<number, { readonly offset: number; readonly since: number }>()
  let measured: { readonly at: number; readonly messagesBehind: number; readonly waiting: WaitingPartitions } | undefined
  const recent = () => (measured && clock.monotonicMs() - measured.at < FRESH_MS ? measured : undefined)

  return {
    note(partitions: readonly PartitionState[]): void {
      const now = clock.monotonicMs()
      const previous = positions
      positions = new Map()
      let messagesBehind = 0
      const waiting = new Map<number, { readonly offset: number; readonly high: number }>()
      for (const { partition, low, high, committedOffset: committed = low } of partitions) {
        const offset = Math.max(low, committed)
        if (offset >= high) continue
        messagesBehind += high - offset
        waiting.set(partition, { offset, high })
        const present = previous.get(partition)
        positions.set(partition, present?.offset === offset ? present : { offset, since: now })
      }
      measured = { at: now, messagesBehind, waiting }
    },
    /** Number of messages after the group's offsets; undefined without a recent measurement. */
    messagesBehind: (): number | undefined => recent()?.messagesBehind,
    /** The partitions in which messages wait; empty without a recent measurement. */
    waiting: (): WaitingPartitions => recent()?.waiting ?? new Map(),
    /**
     * Seconds for which the group's offset has not moved in a partition in which messages wait; the maximum over all partitions.
     * The value keeps growing while measurements fail. It is undefined before the first measurement.
     */
    stalledSeconds(): number | undefined {
      if (!measured) return undefined
      const now = clock.monotonicMs()
      return Math.max(0, ...[...positions.values()].map(({ since }) => (now - since) / 1000))
    },
  }
}
