import type { Clock } from '@penstock/ports/clock.ts'

/** A clock that a test can put forward: whoever sleeps on it wakes so much earlier. */
export function skipping(base: Clock): Clock & { readonly putForward: (ms: number) => void } {
  let aheadMs = 0
  let skipped = new AbortController()
  const now = (): number => base.now() + aheadMs
  return {
    now,
    sleep: async (ms, signal) => {
      const until = now() + ms
      do {
        const woken = signal ? AbortSignal.any([signal, skipped.signal]) : skipped.signal
        await base.sleep(Math.max(0, until - now()), woken)
      } while (signal?.aborted !== true && now() < until)
    },
    putForward: (ms) => {
      aheadMs += ms
      const before = skipped
      skipped = new AbortController()
      before.abort()
    },
  }
}
