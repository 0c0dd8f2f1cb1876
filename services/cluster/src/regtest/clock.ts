import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@penstock/ports/clock.ts'

/** The machine's own. */
export const CLOCK: Clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined), // woken is as good as slept
}
