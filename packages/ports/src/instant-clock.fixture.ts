import type { Clock } from './clock.ts'

/**
 * Creates a clock whose sleeps end at once and advance its monotonic time, so that a timeout expires without real time. Promises
 * that settle without input or output settle before a sleep ends. The wall clock stands still.
 */
export function createInstantClock(now = 1_790_000_000_000): Clock {
  let monotonicMs = 0
  return {
    now: () => now,
    monotonicMs: () => monotonicMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        setImmediate(() => {
          if (!signal?.aborted) monotonicMs += ms
          resolve()
        })
      }),
  }
}
