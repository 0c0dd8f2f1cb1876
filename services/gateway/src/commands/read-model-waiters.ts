import type { Clock } from '@penstock/ports/clock.ts'

const POLL_MS = 100
const MAX_POLL_MS = 1000
/** Share of the time waited so far that the next poll may add. */
const POLL_DELAY_SHARE = 0.25

/** Requests that wait until a check of the read models finds a value. */
export type ReadModelWaiters = {
  /**
   * Calls `check` at once, after each commit about one of `keys`, and by polling. The polling finds commits of other replicas. It
   * begins every `everyMs` (by default 100 ms), and slows down to once a second, so that many waiters do not overload a database
   * that is slow already. All waiters poll at the same times, so that their lookups can share queries.
   * @returns the value that `check` found; undefined if it found none before `until`, a time of the monotonic clock
   */
  readonly wait: <T>(
    check: () => Promise<T | undefined>,
    keys: readonly string[],
    until: number,
    everyMs?: number,
  ) => Promise<T | undefined>
  /** Reports a commit about these keys (ids of aggregates and commands). */
  readonly notifyCommitted: (keys: Iterable<string>) => void
}

/**
 * Returns a check for `ReadModelWaiters.wait` whose first call waits for the sending of a command, and finds nothing. So the wait
 * notices commits during the sending, and reads nothing before the command was sent.
 */
export function checkAfter<T>(sent: Promise<void>, check: () => Promise<T | undefined>): () => Promise<T | undefined> {
  let isSent = false
  return async () => {
    if (isSent) return check()
    await sent
    isSent = true
    return undefined
  }
}

type WaitClock = Pick<Clock, 'monotonicMs' | 'sleep'>

/** The clock of production, where callers wait in real time. */
const realClock: WaitClock = {
  monotonicMs: () => Math.floor(performance.now()),
  // An aborted sleep ends like a finished sleep. That of `timers/promises` would create an error with its stack for each request.
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      const end = (): void => {
        clearTimeout(timer)
        resolve()
      }
      signal?.addEventListener('abort', end, { once: true })
    }),
}

/** @param clock the simulated clock of a test */
export function openReadModelWaiters(clock: WaitClock = realClock): ReadModelWaiters {
  const wakersByKey = new Map<string, Set<() => void>>()

  const subscribe = (keys: readonly string[], wake: () => void): void => {
    for (const key of keys) wakersByKey.set(key, (wakersByKey.get(key) ?? new Set()).add(wake))
  }
  const unsubscribe = (keys: readonly string[], wake: () => void): void => {
    for (const key of keys) {
      const wakers = wakersByKey.get(key)
      wakers?.delete(wake)
      if (wakers?.size === 0) wakersByKey.delete(key)
    }
  }

  return {
    async wait(check, keys, until, everyMs = POLL_MS) {
      const startedMs = clock.monotonicMs()
      let [isWoken, sleepAbort] = [false, new AbortController()]
      const wake = (): void => {
        isWoken = true
        sleepAbort.abort('woken')
      }
      // Subscribes before the first check, so that no commit between a check and the next sleep is missed.
      subscribe(keys, wake)
      try {
        for (;;) {
          isWoken = false
          const nowMs = clock.monotonicMs()
          const remainingMs = until - nowMs
          const found = await check()
          if (found !== undefined || remainingMs <= 0) return found
          if (isWoken) continue
          sleepAbort = new AbortController()
          const pollMs = Math.max(everyMs, Math.min((nowMs - startedMs) * POLL_DELAY_SHARE, MAX_POLL_MS))
          const checkedMs = clock.monotonicMs()
          const pollAtMs = Math.ceil((checkedMs + pollMs) / POLL_MS) * POLL_MS
          await clock.sleep(Math.max(0, Math.min(pollAtMs, until) - checkedMs), sleepAbort.signal)
        }
      } finally {
        unsubscribe(keys, wake)
      }
    },
    notifyCommitted(keys) {
      for (const key of keys) for (const wake of wakersByKey.get(key) ?? []) wake()
    },
  }
}
