import type { Clock } from '@penstock/ports/clock.ts'

/** Maximum delay of a timer. A longer timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      // A timer drops fractions of a millisecond, and would fire early.
      let leftMs = Math.ceil(Math.max(0, ms))
      let timer: NodeJS.Timeout
      const startTimer = (): void => {
        const delayMs = Math.min(leftMs, LONGEST_TIMER_MS)
        leftMs -= delayMs
        timer = setTimeout(leftMs > 0 ? startTimer : end, delayMs)
      }
      function end(): void {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      signal?.addEventListener('abort', end, { once: true })
      startTimer()
    }),
}
