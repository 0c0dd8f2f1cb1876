import type { Clock } from './clock.ts'

/** A clock whose time does not pass, so that no timeout expires. A sleep ends only when its signal aborts. */
export const stillClock: Clock = {
  now: () => 1_790_000_000_000,
  monotonicMs: () => 0,
  sleep: (_, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) resolve()
      else signal?.addEventListener('abort', () => resolve(), { once: true })
    }),
}
