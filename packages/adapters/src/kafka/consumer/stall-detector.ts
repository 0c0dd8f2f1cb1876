/** The next offset to read in each partition in which messages wait, by topic and partition: `<topic>/<partition>`. */
export type UnreadOffsets = ReadonlyMap<string, number>

/** Finds a partition that has messages and whose read offset does not move. */
export function createStallDetector() {
  let positions = new Map<string, { readonly offset: number; readonly since: number }>()
  return {
    /** @param now by the monotonic clock, in ms */
    record(unread: UnreadOffsets, now: number): void {
      const previous = positions
      positions = new Map(
        [...unread].map(([partition, offset]) => {
          const present = previous.get(partition)
          return [partition, present?.offset === offset ? present : { offset, since: now }]
        }),
      )
    },
    /** @returns a partition that has made no progress for `ms` milliseconds, if there is one */
    findStalled(ms: number, now: number): string | undefined {
      for (const [partition, { since }] of positions) if (now - since >= ms) return partition
      return undefined
    },
  }
}
