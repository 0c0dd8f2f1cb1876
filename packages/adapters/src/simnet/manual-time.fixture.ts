import type { Clock } from '@penstock/ports/clock.ts'
import { createVirtualSchedule } from '../deterministic/virtual-schedule.ts'

/** A clock for the nodes of a test, whose time passes only by `pass`. */
export function createManualTime(): {
  readonly clock: Clock
  readonly now: () => number
  readonly pass: (ms: number) => Promise<void>
} {
  const schedule = createVirtualSchedule('manual time')
  return {
    // The monotonic clock does not begin at 0, which is the deadline of late calls in the contracts.
    clock: { ...schedule.clock, monotonicMs: schedule.now },
    now: schedule.now,
    pass: async (ms) => void (await schedule.run({ untilMs: schedule.now() + ms })),
  }
}
