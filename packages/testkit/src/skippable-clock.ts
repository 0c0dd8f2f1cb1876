import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Clock } from '@penstock/ports/clock.ts'

/** A clock that a test can set ahead. Running sleeps then end earlier by the same time. */
export function createSkippableClock(base: Clock = systemClock): Clock & { readonly skip: (ms: number) => void } {
  let aheadMs = 0
  let skipped = new AbortController()
  const monotonicMs = (): number => base.monotonicMs() + aheadMs
  return {
    now: () => base.now() + aheadMs,
    monotonicMs,
    async sleep(ms, signal) {
      const until = monotonicMs() + ms
      do {
        const woken = signal ? AbortSignal.any([signal, skipped.signal]) : skipped.signal
        await base.sleep(Math.max(0, until - monotonicMs()), woken)
      } while (signal?.aborted !== true && monotonicMs() < until)
    },
    skip(ms) {
      aheadMs += ms
      const before = skipped
      skipped = new AbortController()
      before.abort()
    },
  }
}
