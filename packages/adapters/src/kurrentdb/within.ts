import { Fault } from '@penstock/kernel/result.ts'
import type { Asked } from './faults.ts'

/**
 * Waits for an answer that may never come: not every call of the client has a deadline of its own.
 * @throws Fault where it has not come in time; whatever comes later is dropped
 */
export async function within<T>(timeoutMs: number, { method, server }: Asked, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Fault(`KurrentDB at ${server} did not answer ${method} within ${timeoutMs} ms`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}
