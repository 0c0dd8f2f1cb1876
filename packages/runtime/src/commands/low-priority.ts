import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Work that yields to other work at the database: messages of unpaid orders, and questions to the gateway. The mark follows the
 * work through its calls, so that the ports of the stores do not need a parameter for it.
 */
const lowPriority = new AsyncLocalStorage<true>()

export const runWithLowPriority = <T>(work: () => T): T => lowPriority.run(true, work)
/** Also for work that several callers share, such as a batch of their statements. */
export const runWithRegularPriority = <T>(work: () => T): T => lowPriority.exit(work)
export const hasLowPriority = (): boolean => lowPriority.getStore() === true
