import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from './clock.ts'

/**
 * Looks at the clock once more, right before something is done that must not be done late: whoever stood still since it
 * was decided does not do it.
 * @throws Fault after that instant
 */
export function inTime(clock: Pick<Clock, 'now'>, notAfter: number): void {
  if (clock.now() > notAfter) throw new Fault('too much time passed between the look and what was to be done')
}
