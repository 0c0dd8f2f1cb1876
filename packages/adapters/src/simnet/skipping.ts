import type { Clock } from '@penstock/ports/clock.ts'

/** A clock that a test can put forward: whoever sleeps on it wakes so much earlier. */
export function skipping(base: Clock): Clock & { readonly putForward: (ms: number) => void } {
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
    putForward: (ms) => {
      aheadMs += ms
      const before = skipped
      skipped = new AbortController()
      before.abort()
    },
  }
}
