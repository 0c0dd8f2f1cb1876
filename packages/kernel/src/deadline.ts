import { Fault } from './result.ts'

/**
 * Checks the clock directly before an action that must not happen late, because the process may have paused since the
 * decision.
 * @param deadlineMs a reading of this process's monotonic clock
 * @throws Fault after that instant
 */
export function assertBeforeDeadline(clock: { monotonicMs(): number }, deadlineMs: number): void {
  if (clock.monotonicMs() > deadlineMs) throw new Fault('the deadline passed before the action started')
}

/** @returns the wall clock's instant for a reading of the monotonic clock, so that other processes can use a deadline */
export const toWallClock = (clock: { now(): number; monotonicMs(): number }, monotonicMs: number): number =>
  clock.now() + monotonicMs - clock.monotonicMs()
