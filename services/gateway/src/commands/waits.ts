import type { Clock } from '@penstock/ports/clock.ts'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 100

/** Requests that wait until a read model shows something. */
export type Waits = {
  /**
   * Asks at once, when something was committed about one of `keys`, and beside that every 100 ms (or as given), since the commit may
   * be another replica's. @returns undefined when `until` (milliseconds since 1970) has passed
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

/** People wait in real time. */
const realTime: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined), // woken is as good as slept
}

/** @param clock another one where time is simulated */
export function openWaits(clock: Clock = realTime): Waits {
  const sleepers = new Map<string, Set<() => void>>()

  const asleep = async (keys: readonly string[], ms: number, waking: AbortController): Promise<void> => {
    const wake = () => waking.abort()
    for (const key of keys) sleepers.set(key, (sleepers.get(key) ?? new Set()).add(wake))
    await clock.sleep(ms, waking.signal)
    for (const key of keys) {
      const others = sleepers.get(key)
      others?.delete(wake)
      if (others?.size === 0) sleepers.delete(key)
    }
  }

  return {
    async wait(check, keys, until, everyMs = POLL_MS) {
      for (;;) {
        const left = until - clock.now()
        const waking = new AbortController()
        // Asleep before the look, so that a commit between the two is not missed.
        const pause = asleep(keys, Math.max(0, Math.min(everyMs, left)), waking)
        try {
          const found = await check()
          if (found !== undefined || left <= 0) return found
          await pause
        } finally {
          waking.abort()
          await pause
        }
      }
    },
    committed(keys) {
      for (const key of keys) for (const wake of sleepers.get(key) ?? []) wake()
    },
  }
}
