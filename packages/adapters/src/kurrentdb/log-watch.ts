import { systemClock } from '../system/clock.ts'
import type { KurrentLogEnd } from './log-end.ts'

const CHECK_EVERY_MS = 1000
const ANSWER_TIMEOUT_MS = 1000

/** Called with the position of the end of the log at its leader. */
type EndListener = (end: bigint) => void

/**
 * Reads the end of the leader's log once a second while there are followers. A subscription at a former leader or at a hanging
 * node gives no error. The follower detects a former leader by the grown log. The connection detects a hanging node by the
 * missing answer.
 */
export function createLogWatch(logEnd: Pick<KurrentLogEnd, 'position'>, over: AbortSignal) {
  const followers = new Set<EndListener>()

  async function watch(): Promise<void> {
    while (followers.size > 0 && !over.aborted) {
      await systemClock.sleep(CHECK_EVERY_MS, over)
      if (over.aborted) return
      // The connection handles a Fault, and reads of events report it.
      const end = await logEnd.position(ANSWER_TIMEOUT_MS).catch(() => undefined)
      if (end !== undefined) for (const listener of followers) listener(end)
    }
  }

  return {
    /** @returns a function that removes the listener */
    join(listener: EndListener): () => void {
      followers.add(listener)
      if (followers.size === 1) void watch()
      return () => followers.delete(listener)
    },
  }
}
export type LogWatch = ReturnType<typeof createLogWatch>
