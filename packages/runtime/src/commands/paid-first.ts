import { findContract } from '@penstock/contracts/contracts.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { runWithLowPriority, runWithRegularPriority } from './low-priority.ts'

/** Maximum wait of one message of an unpaid order. A purchase needs about ten messages until its answer. */
const MAX_WAIT_MS = 100

export type PaidPriorityScheduler = {
  /** Runs the work. While paid work runs, unpaid work first waits for at most MAX_WAIT_MS. It has low priority at the database. */
  readonly run: <T>(isUnpaid: boolean, work: () => Promise<T>) => Promise<T>
}

/**
 * Runs the work of paid orders before the work of unpaid orders. An overloaded machine then opens and settles paid channels,
 * while buyers who only requested an invoice wait. The work is the handling of a message, of a deadline, of a job's command, and of
 * the outcome of an effect. An effect itself is no such work, because it may wait for a node for minutes.
 */
export function createPaidPriorityScheduler(clock: Pick<Clock, 'sleep'>): PaidPriorityScheduler {
  let paidRunning = 0
  let idle = new AbortController()
  return {
    async run(isUnpaid, work) {
      if (isUnpaid) {
        if (paidRunning > 0) await clock.sleep(MAX_WAIT_MS, idle.signal)
        return runWithLowPriority(work)
      }
      paidRunning++
      try {
        return await runWithRegularPriority(work)
      } finally {
        paidRunning--
        if (paidRunning === 0) {
          // Without a reason, each abort would create an error with its stack.
          idle.abort('idle')
          idle = new AbortController()
        }
      }
    },
  }
}

const schedulers = new WeakMap<Bus, PaidPriorityScheduler>()

/** @returns the scheduler of a bus, which all services of a process share */
export function paidFirstOf(bus: Bus, clock: Pick<Clock, 'sleep'>): PaidPriorityScheduler {
  const known = schedulers.get(bus) ?? createPaidPriorityScheduler(clock)
  schedulers.set(bus, known)
  return known
}

/** @param category an unknown category, as of a newer release, counts as paid @param type the type of a fact or command */
export const isUnpaid = (category: string, type: string): boolean => findContract(category)?.unpaid?.includes(type) ?? false
