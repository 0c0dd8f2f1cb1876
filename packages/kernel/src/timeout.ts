import { Fault } from './result.ts'

/** The part of a clock that a timeout needs. */
type Sleeper = { sleep(ms: number, signal?: AbortSignal): Promise<void> }

/**
 * Waits for an answer for at most `timeoutMs`. After a timeout the call continues, and its result is ignored.
 * @throws Fault if no answer arrives in time, or the signal fires
 */
export async function withTimeout<T>(clock: Sleeper, timeoutMs: number, call: Promise<T>, signal?: AbortSignal): Promise<T> {
  const done = new AbortController()
  const end = signal ? AbortSignal.any([signal, done.signal]) : done.signal
  // Most calls are answered in time. A new fault with a stack for each call would cost more than the rest of this function.
  const expired = clock.sleep(timeoutMs, end).then(() => {
    if (!done.signal.aborted) throw new Fault(`no answer within ${timeoutMs} ms`)
  })
  expired.catch(() => undefined) // A timer that loses the race must not cause an unhandled rejection.
  try {
    return (await Promise.race([call, expired])) as T // `expired` ends the race only by rejecting
  } finally {
    // The default abort reason would capture a stack.
    done.abort('answered')
  }
}
