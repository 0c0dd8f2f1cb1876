import { computeBackoffMs, type RandomSource } from '@penstock/kernel/backoff.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Semaphore } from '@penstock/kernel/semaphore.ts'

export type RetryOptions = {
  readonly clock: Clock
  readonly chance: RandomSource
  readonly retryMinMs: number
  readonly retryMaxMs: number
}

/**
 * Retries a failed attempt with back-off. During the wait the attempt holds no slot, so that a failing key does not block other
 * keys. It acquires a slot again before the retry.
 */
export function createRetry({ clock, chance, retryMinMs, retryMaxMs }: RetryOptions, stop: AbortSignal, onSlotFree: () => void) {
  /** @returns false if the signal aborted before a success */
  return async (semaphore: Semaphore, attempt: () => Promise<void>): Promise<boolean> => {
    for (let tries = 0; ; tries++) {
      try {
        await attempt()
        return true
      } catch {
        // The handler logs the cause. Here an error only triggers a retry.
        if (stop.aborted) return false
        semaphore.release()
        onSlotFree()
        await clock.sleep(computeBackoffMs(tries, chance, retryMinMs, retryMaxMs), stop)
        await semaphore.acquire()
        if (stop.aborted) return false
      }
    }
  }
}
