import type { Clock } from '@penstock/ports/clock.ts'

/** A clock that a test can advance. Running sleeps then end earlier by the same time. */
export function createTestClock(base: Clock): Clock & { readonly advance: (ms: number) => void } {
  let aheadMs = 0
  let skipped = new AbortController()
  const monotonicMs = (): number => base.monotonicMs() + aheadMs
  return {
    now: () => base.now() + aheadMs,
    monotonicMs,
    sleep: async (ms, signal) => {
      const until = monotonicMs() + ms
      do {
        const woken = signal ? AbortSignal.any([signal, skipped.signal]) : skipped.signal
        await base.sleep(Math.max(0, until - monotonicMs()), woken)
      } while (signal?.aborted !== true && monotonicMs() < until)
    },
    advance: (ms) => {
      aheadMs += ms
      const before = skipped
      skipped = new AbortController()
      before.abort()
    },
  }
}
