import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@penstock/ports/clock.ts'

/** The clock of this machine. */
export const MACHINE_CLOCK: Clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined), // an abort ends the sleep
}
