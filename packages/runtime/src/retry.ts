import { Fault } from '@penstock/kernel/result.ts'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'

/** The clock of the waits between tries, and the random source that shortens them. */
export type RetryPorts = { readonly clock: Clock; readonly ids: Pick<Ids, 'random'> }

/**
 * Repeats a call until it succeeds or the signal fires.
 * @param isRetryable whether a later call may succeed after this error; other errors are thrown immediately
 */
export async function retryUntil<T>(
  { clock, ids }: RetryPorts,
  signal: AbortSignal,
  call: () => Promise<T>,
  isRetryable: (error: unknown, tries: number) => boolean,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted || !isRetryable(error, tries)) throw error
      await clock.sleep(computeBackoffMs(tries, ids), signal)
    }
  }
}

/** Repeats a call after each fault, for calls that must succeed before the caller can continue. */
export const retryFaults = <T>(
  ports: RetryPorts,
  signal: AbortSignal,
  call: () => Promise<T>,
  onFault: (fault: Fault) => void = () => undefined,
): Promise<T> =>
  retryUntil(ports, signal, call, (error) => {
    if (error instanceof Fault) onFault(error)
    return error instanceof Fault
  })
