/** Numbers of messages in flight at which a partition is paused, and below which it is resumed. */
const PAUSE_AT = 1000
const RESUME_BELOW = 500

/** The read offset of a partition that this process owns, and the offsets of its messages in flight. */
export type InFlightOffsets = ReturnType<typeof createInFlightOffsets>

export function createInFlightOffsets(partition: number) {
  /** Offsets of messages in flight. A set iterates in the order of insertion, so the offsets are ascending. */
  const pending = new Set<number>()
  let nextOffset: number | undefined
  let revoked = false
  let notifyRoom: (() => void) | undefined

  return {
    partition,
    /** Whether the partition was assigned to another member, which handles the messages that this process has not started. */
    isRevoked: () => revoked,
    revoke(): void {
      revoked = true
      notifyRoom?.()
    },
    /** @returns false for an offset that was added before, because a rebalance restarts reading at the last commit */
    add(offset: number): boolean {
      if (nextOffset !== undefined && offset < nextOffset) return false
      nextOffset = offset + 1
      pending.add(offset)
      return true
    },
    complete(offset: number): void {
      pending.delete(offset)
      if (pending.size < RESUME_BELOW) notifyRoom?.()
    },
    /** Whether the log ends before the read offset, because the topic was recreated or has lost its newest messages. */
    isBeyond: (highWatermark: number): boolean => nextOffset !== undefined && highWatermark < nextOffset,
    isFull: () => pending.size >= PAUSE_AT,
    /** Whether no message is in flight. */
    isIdle: () => pending.size === 0,
    /** Resolves once fewer messages are in flight, or once the partition is revoked. */
    waitForRoom(): Promise<void> {
      if (revoked || pending.size < RESUME_BELOW) return Promise.resolve()
      return new Promise((resolve) => {
        const previous = notifyRoom
        notifyRoom = () => {
          notifyRoom = undefined
          previous?.()
          resolve()
        }
      })
    },
    /** The offset before which every message is completed; undefined before the first message. */
    committableOffset(): number | undefined {
      const [first] = pending
      return first ?? nextOffset
    },
  }
}
