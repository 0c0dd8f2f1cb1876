import type { Clock } from '@penstock/ports/clock.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import type { Logger } from '../observability/log.ts'

export type LeaseContext = {
  readonly leases: Leases
  /** The name of the holder, one for each process. */
  readonly instance: string
  readonly clock: Clock
  readonly log: Logger
}

/** The lifetime of a lease, and so the longest pause of the work after a crash of its holder. */
const TTL_MS = 3000
const RENEW_EVERY_MS = 1000

/**
 * Runs `work` whenever this process acquires the lease. The signal of the work fires at the end of the lease. The function
 * continues until `signal`, or until the work throws.
 */
export async function runUnderLease(
  context: LeaseContext,
  name: string,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { leases, instance, log } = context
  while (!signal.aborted) {
    if ((await acquireLease(context, name)) !== true) {
      await waitForRenewal(context, signal)
      continue
    }
    const ended = new AbortController()
    const renewing = renewLease(context, name, ended, signal)
    try {
      await work(AbortSignal.any([signal, ended.signal]))
    } finally {
      ended.abort()
      await renewing
      await leases
        .release(name, instance)
        .catch((error: unknown) => log.warn({ lease: name, reason: String(error) }, 'releasing a lease failed; it will expire'))
    }
  }
}

const renewals = new WeakMap<Leases, Promise<void>>()

/** Waits for the next renewal. All leases of a process are renewed at the same time, because they can share a statement. */
function waitForRenewal({ leases, clock }: LeaseContext, signal: AbortSignal): Promise<void> {
  const renewal = renewals.get(leases) ?? clock.sleep(RENEW_EVERY_MS).finally(() => renewals.delete(leases))
  renewals.set(leases, renewal)
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
    void renewal.then(end)
  })
}

/** After a fault it is unknown whether this process has the lease; the next try shows it. */
async function acquireLease({ leases, instance, log }: LeaseContext, name: string): Promise<boolean | 'unknown'> {
  try {
    return await leases.acquire(name, instance, TTL_MS)
  } catch (error) {
    log.warn({ lease: name, reason: String(error) }, 'acquiring a lease failed')
    return 'unknown'
  }
}

async function renewLease(context: LeaseContext, name: string, ended: AbortController, signal: AbortSignal): Promise<void> {
  const { clock, log } = context
  let since = clock.monotonicMs()
  while (!ended.signal.aborted) {
    await waitForRenewal(context, AbortSignal.any([signal, ended.signal]))
    if (ended.signal.aborted || signal.aborted) return
    const requestedAt = clock.monotonicMs()
    const isHeld = await acquireLease(context, name)
    if (isHeld === true) since = requestedAt
    else if (isHeld === false || clock.monotonicMs() - since >= TTL_MS) {
      log.warn({ lease: name }, 'a lease was lost; another process takes over')
      ended.abort()
    }
  }
}
