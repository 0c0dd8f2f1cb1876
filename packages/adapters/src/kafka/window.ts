/** Messages in memory from which a partition is paused, and below which it is resumed. */
const FULL = 1000
const ROOM = 500

/** A partition that this process owns: up to where it was read, and what of that is not done. */
export type Window = ReturnType<typeof openWindow>

export function openWindow(partition: number) {
  /** In ascending order, since they are added in that order. */
  const undone = new Set<number>()
  let next: number | undefined
  let lost = false
  let hasRoom: (() => void) | undefined

  return {
    partition,
    /** Another member has the partition now; what was not begun is left to it. */
    isLost: () => lost,
    lose(): void {
      lost = true
      hasRoom?.()
    },
    /** @returns false for what was read before: after a rebalance it comes again from the last commit */
    take(offset: number): boolean {
      if (next !== undefined && offset < next) return false
      next = offset + 1
      undone.add(offset)
      return true
    },
    done(offset: number): void {
      undone.delete(offset)
      if (undone.size < ROOM) hasRoom?.()
    },
    /** Whether the log ends before what was read of it: the topic was made anew, or lost its end. */
    isBeyond: (highWatermark: number): boolean => next !== undefined && highWatermark < next,
    isFull: () => undone.size >= FULL,
    /** Resolves once there is room again, or the partition is another member's. */
    room(): Promise<void> {
      if (lost || undone.size < ROOM) return Promise.resolve()
      return new Promise((resolve) => {
        const before = hasRoom
        hasRoom = () => {
          hasRoom = undefined
          before?.()
          resolve()
        }
      })
    },
    /** Everything before this offset is done; undefined before anything was read. */
    progress(): number | undefined {
      const [first] = undone
      return first ?? next
    },
  }
}
