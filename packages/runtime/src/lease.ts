import type { Clock } from '@penstock/ports/clock.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import type { Log } from './log.ts'

export type LeaseContext = {
  readonly leases: Leases
  /** Who holds it: one name for each process. */
  readonly instance: string
  readonly clock: Clock
  readonly log: Log
}

/** How long the work stands still at most after its holder died. */
const TTL_MS = 3000
const RENEW_EVERY_MS = 1000

/**
 * Does `work` while this process holds the lease, and again whenever it gets it. The signal that the work is given ends
 * with the lease. It goes on until `signal`, or until the work throws.
 */
export async function underLease(
  context: LeaseContext,
  name: string,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { leases, instance, clock, log } = context
  while (!signal.aborted) {
    if ((await held(context, name)) !== true) {
      await clock.sleep(RENEW_EVERY_MS, signal)
      continue
    }
    const over = new AbortController()
    const renewing = renew(context, name, over, signal)
    try {
      await work(AbortSignal.any([signal, over.signal]))
    } finally {
      over.abort()
      await renewing
      await leases
        .release(name, instance)
        .catch((error: unknown) => log.warn({ lease: name, reason: String(error) }, 'a lease was not given back; it runs out'))
    }
  }
}

/** After a fault whether it was taken is seen at the next try. */
async function held({ leases, instance, log }: LeaseContext, name: string): Promise<boolean | 'unknown'> {
  try {
    return await leases.hold(name, instance, TTL_MS)
  } catch (error) {
    log.warn({ lease: name, reason: String(error) }, 'a lease could not be asked for')
    return 'unknown'
  }
}

async function renew(context: LeaseContext, name: string, over: AbortController, signal: AbortSignal): Promise<void> {
  const { clock, log } = context
  let since = clock.monotonicMs()
  while (!over.signal.aborted) {
    await clock.sleep(RENEW_EVERY_MS, AbortSignal.any([signal, over.signal]))
    if (over.signal.aborted || signal.aborted) return
    const asked = clock.monotonicMs()
    const mine = await held(context, name)
    if (mine === true) since = asked
    else if (mine === false || clock.monotonicMs() - since >= TTL_MS) {
      log.warn({ lease: name }, 'a lease was lost; another process goes on')
      over.abort()
    }
  }
}
