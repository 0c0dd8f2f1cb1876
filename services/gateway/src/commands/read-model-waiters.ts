import type { Clock } from '@penstock/ports/clock.ts'

const POLL_MS = 100
const MAX_POLL_MS = 1000
/** Share of the time waited so far that the next poll may add. */
const POLL_DELAY_SHARE = 0.25

export type WaitOptions = {
  /** The shortest time between two polls; by default 100 ms. */
  readonly everyMs?: number
  /** The sending of the command that leads to the value. Its failure fails the wait, unless a commit or `until` came before. */
  readonly sent?: Promise<void>
}

/** Requests that wait until a check of the read models finds a value. */
export type ReadModelWaiters = {
  /**
   * Calls `check` at once, after each commit about one of `keys`, and by polling. The polling finds commits of other replicas. It
   * slows down to once a second, so that many waiters do not overload a database that is slow already. All waiters poll at the
   * same times, so that their lookups can share queries. With `sent`, the first call follows a commit, or the first poll after the
   * sending, or `until`. So the wait reads nothing before the command was sent, and ends in time if the bus is away.
   * @returns the value that `check` found; undefined if it found none before `until`, a time of the monotonic clock
   */
  readonly wait: <T>(
    check: () => Promise<T | undefined>,
    keys: readonly string[],
    until: number,
    options?: WaitOptions,
  ) => Promise<T | undefined>
  /** Reports a commit about these keys (ids of aggregates and commands). */
  readonly notifyCommitted: (keys: Iterable<string>) => void
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

/** The sleeps of one wait. A commit since the last check ends a sleep at once, also if it came before the sleep. */
function createSleeper(clock: WaitClock, until: number) {
  let [isWoken, sleepAbort] = [false, new AbortController()]
  const endSleep = (): void => sleepAbort.abort('ended')
  const wake = (): void => {
    isWoken = true
    endSleep()
  }
  return {
    endSleep,
    wake,
    resetWake(): void {
      isWoken = false
    },
    /** Sleeps until this time, at most until `until`. */
    async sleepTo(atMs: number): Promise<void> {
      if (isWoken) return
      sleepAbort = new AbortController()
      await clock.sleep(Math.max(0, Math.min(atMs, until) - clock.monotonicMs()), sleepAbort.signal)
    },
  }
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
    async wait(check, keys, until, { everyMs = POLL_MS, sent } = {}) {
      const startedMs = clock.monotonicMs()
      const sleeper = createSleeper(clock, until)
      const sleepToPoll = (checkedMs: number): Promise<void> => {
        const pollMs = Math.max(everyMs, Math.min((checkedMs - startedMs) * POLL_DELAY_SHARE, MAX_POLL_MS))
        return sleeper.sleepTo(Math.ceil((clock.monotonicMs() + pollMs) / POLL_MS) * POLL_MS)
      }
      // Subscribes before the first check, so that no commit between a check and the next sleep is missed.
      subscribe(keys, sleeper.wake)
      try {
        if (sent) {
          await Promise.race([sent, sleeper.sleepTo(until)]).finally(sleeper.endSleep)
          await sleepToPoll(startedMs)
        }
        for (;;) {
          sleeper.resetWake()
          const nowMs = clock.monotonicMs()
          const found = await check()
          if (found !== undefined || nowMs >= until) return found
          await sleepToPoll(nowMs)
        }
      } finally {
        unsubscribe(keys, sleeper.wake)
      }
    },
    notifyCommitted(keys) {
      for (const key of keys) for (const wake of wakersByKey.get(key) ?? []) wake()
    },
  }
}
