import { Fault } from '@penstock/kernel/result.ts'
import type { KurrentCall } from './faults.ts'

/**
 * Limits the wait for an answer, because not every call of the client has a timeout.
 * @throws Fault if the answer does not arrive in time; a later answer is dropped
 */
export async function withKurrentTimeout<T>(timeoutMs: number, { method, server }: KurrentCall, call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Fault(`KurrentDB at ${server} did not answer ${method} within ${timeoutMs} ms`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([call, timeout])
  } finally {
    clearTimeout(timer)
    call.catch(() => undefined)
  }
}
