import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from './clock.ts'

/**
 * Waits for an answer, and no longer than it may take. The call itself goes on; what becomes of it nobody hears.
 * @throws Fault where there is no answer in time, or the signal fires
 */
export async function within<T>(clock: Clock, timeoutMs: number, call: Promise<T>, signal?: AbortSignal): Promise<T> {
  const answered = new AbortController()
  const end = signal ? AbortSignal.any([signal, answered.signal]) : answered.signal
  // Most calls are answered: a fault that nobody hears, with its stack, would cost more than all else here.
  const late = clock.sleep(timeoutMs, end).then(() => {
    if (!answered.signal.aborted) throw new Fault(`no answer within ${timeoutMs} ms`)
  })
  late.catch(() => undefined) // it loses the race, and nobody hears it
  try {
    return (await Promise.race([call, late])) as T // `late` wins by its fault alone
  } finally {
    // A reason of its own, since the usual one comes with a stack.
    answered.abort('answered')
  }
}
