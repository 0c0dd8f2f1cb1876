import type { Clock } from '@penstock/ports/clock.ts'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 100

/** Requests that wait until a read model shows something. */
export type Waits = {
  /**
   * Asks at once, when something was committed about one of `keys`, and beside that every 100 ms (or as given), since the commit may
   * be another replica's. @returns undefined when `until` has passed, a reading of the monotonic clock
   */
  readonly wait: <T>(
    check: () => Promise<T | undefined>,
    keys: readonly string[],
    until: number,
    everyMs?: number,
  ) => Promise<T | undefined>
  /** Something about these keys (ids of aggregates and commands) was committed. */
  readonly committed: (keys: Iterable<string>) => void
}

type Time = Pick<Clock, 'monotonicMs' | 'sleep'>

/** People wait in real time. */
const realTime: Time = {
  monotonicMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined), // woken is as good as slept
}

/** @param clock another one where time is simulated */
export function openWaits(clock: Time = realTime): Waits {
  const sleepers = new Map<string, Set<() => void>>()

  const heed = (keys: readonly string[], wake: () => void): void => {
    for (const key of keys) sleepers.set(key, (sleepers.get(key) ?? new Set()).add(wake))
  }
  const leave = (keys: readonly string[], wake: () => void): void => {
    for (const key of keys) {
      const others = sleepers.get(key)
      others?.delete(wake)
      if (others?.size === 0) sleepers.delete(key)
    }
  }

  return {
    async wait(check, keys, until, everyMs = POLL_MS) {
      let [woken, asleep] = [false, new AbortController()]
      const wake = (): void => {
        woken = true
        asleep.abort('woken')
      }
      // Before the first look, so that a commit between a look and the sleep after it is not missed.
      heed(keys, wake)
      try {
        for (;;) {
          woken = false
          const left = until - clock.monotonicMs()
          const found = await check()
          if (found !== undefined || left <= 0) return found
          if (woken) continue
          asleep = new AbortController()
          await clock.sleep(Math.min(everyMs, left), asleep.signal)
        }
      } finally {
        leave(keys, wake)
      }
    },
    committed(keys) {
      for (const key of keys) for (const wake of sleepers.get(key) ?? []) wake()
    },
  }
}
