import type { Clock } from '@penstock/ports/clock.ts'

/** A timer that is set for longer rings at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      let leftMs = Math.max(0, ms)
      let timer: NodeJS.Timeout
      const rest = (): void => {
        const restMs = Math.min(leftMs, LONGEST_TIMER_MS)
        leftMs -= restMs
        timer = setTimeout(leftMs > 0 ? rest : end, restMs)
      }
      function end(): void {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      signal?.addEventListener('abort', end, { once: true })
      rest()
    }),
}
