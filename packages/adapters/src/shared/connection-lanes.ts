import { Fault } from '@penstock/kernel/result.ts'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import { hasLowPriority } from '@penstock/runtime/commands/low-priority.ts'

/** The places in front of a pool of connections. */
export type ConnectionLanes = {
  /**
   * Waits until the caller may request a connection.
   * @returns a function that gives the place back, when the connection was released
   * @throws Fault if low-priority work got no place in time, if a time is set
   */
  readonly enter: () => Promise<() => void>
}

const leaveNothing = (): void => undefined

/**
 * Low-priority work waits in order until fewer than `lowPriorityCount` others have a place. Other work never waits.
 * @param timeoutMs the maximum wait
 */
export function createConnectionLanes(lowPriorityCount: number, timeoutMs?: number): ConnectionLanes {
  const places = createSemaphore(lowPriorityCount)
  return {
    async enter() {
      if (!hasLowPriority()) return leaveNothing
      const waitSignal = () => (timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs))
      const isAdmitted = places.tryAcquire() || (await places.acquire(waitSignal()))
      if (!isAdmitted) throw new Fault('too many other requests wait for the database')
      return places.release
    },
  }
}
