import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'

/** Waits between tries: doubling from `firstMs` to `maxMs`. */
export const backoff = (tries: number, firstMs = 50, maxMs = 5000): number => Math.min(maxMs, firstMs * 2 ** Math.min(tries, 16))

/**
 * Calls again until it succeeds or the signal fires.
 * @param worthwhile whether this error is one that a later call may not meet; others are thrown at once
 */
export async function persist<T>(
  clock: Clock,
  signal: AbortSignal,
  call: () => Promise<T>,
  worthwhile: (error: unknown, tries: number) => boolean,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted || !worthwhile(error, tries)) throw error
      await clock.sleep(backoff(tries), signal)
    }
  }
}

/** Calls again through faults: what is asked has to be there before anything else can begin. */
export const throughFaults = <T>(
  clock: Clock,
  signal: AbortSignal,
  call: () => Promise<T>,
  told: (fault: Fault) => void = () => undefined,
): Promise<T> =>
  persist(clock, signal, call, (error) => {
    if (error instanceof Fault) told(error)
    return error instanceof Fault
  })
