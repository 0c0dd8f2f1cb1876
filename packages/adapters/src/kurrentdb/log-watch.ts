import { systemClock } from '../system/clock.ts'
import type { LogEnd } from './log-end.ts'

const LOOK_EVERY_MS = 500
const ANSWER_MS = 1000

/** Told where the log ends at its leader. */
type TellEnd = (end: bigint) => void

/**
 * Looks at the leader's log twice a second while anybody follows. A subscription at a node that does not lead any more, or
 * stands still, says nothing of it: its follower sees that the log has gone on, and the connection sees that the node is silent.
 */
export function logWatch(logEnd: Pick<LogEnd, 'position'>, over: AbortSignal) {
  const followers = new Set<TellEnd>()

  async function watch(): Promise<void> {
    while (followers.size > 0 && !over.aborted) {
      await systemClock.sleep(LOOK_EVERY_MS, over)
      if (over.aborted) return
      // The connection acts on a fault, and it shows where events are read.
      const end = await logEnd.position(ANSWER_MS).catch(() => undefined)
      if (end !== undefined) for (const tell of followers) tell(end)
    }
  }

  return {
    /** @returns what ends it */
    join(tell: TellEnd): () => void {
      followers.add(tell)
      if (followers.size === 1) void watch()
      return () => followers.delete(tell)
    },
  }
}
export type LogWatch = ReturnType<typeof logWatch>
