import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from './clock.ts'

/**
 * Looks at the clock once more, right before something is done that must not be done late: whoever stood still since it
 * was decided does not do it.
 * @param notAfterMs a reading of this process's monotonic clock
 * @throws Fault after that instant
 */
export function inTime(clock: Pick<Clock, 'monotonicMs'>, notAfterMs: number): void {
  if (clock.monotonicMs() > notAfterMs) throw new Fault('too much time passed between the look and what was to be done')
}

/** @returns the wall clock's instant for a reading of the monotonic clock: what other processes are told of a time limit */
export const wallInstantOf = (clock: Pick<Clock, 'now' | 'monotonicMs'>, monotonicMs: number): number =>
  clock.now() + monotonicMs - clock.monotonicMs()
