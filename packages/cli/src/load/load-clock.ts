import { setTimeout as pause } from 'node:timers/promises'

/** The clock of a load run. */
export type LoadClock = {
  /** Reads the monotonic clock in milliseconds with fractions, because many steps take about a millisecond. */
  monotonicMs(): number
  /** Resolves after `ms` milliseconds, or at once when the signal aborts. It never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const processClock: LoadClock = {
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => pause(ms, undefined, signal && { signal }).catch(() => undefined),
}

/** Sleeps until `at` of the monotonic clock. @returns false if the signal has aborted */
export async function sleepUntil(clock: LoadClock, at: number, signal: AbortSignal): Promise<boolean> {
  const ms = at - clock.monotonicMs()
  if (ms > 0) await clock.sleep(ms, signal)
  return !signal.aborted
}
