import type { Clock } from '@penstock/ports/clock.ts'
import type { slots } from './slots.ts'

export type RetryOptions = { readonly clock: Clock; readonly retryMinMs: number; readonly retryMaxMs: number }

/**
 * Tries again with back-off what throws. Whoever rests gives its slot away, so that a key that fails holds up nobody
 * else, and has one again when it goes on.
 */
export function retries(
  running: ReturnType<typeof slots>,
  { clock, retryMinMs, retryMaxMs }: RetryOptions,
  stop: AbortSignal,
  slotIsFree: () => void,
) {
  /** @returns false where it was stopped before it worked */
  return async (attempt: () => Promise<void>): Promise<boolean> => {
    for (let waitMs = retryMinMs; ; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
      try {
        await attempt()
        return true
      } catch {
        // Why is for the handler's own log: here a fault is only a reason to try again.
        if (stop.aborted) return false
        running.giveBack()
        slotIsFree()
        await clock.sleep(waitMs, stop)
        await running.take()
        if (stop.aborted) return false
      }
    }
  }
}
