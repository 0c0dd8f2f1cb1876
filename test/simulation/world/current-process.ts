import { AsyncLocalStorage } from 'node:async_hooks'
import type { SimulatedProcess } from '@penstock/adapters/deterministic/faults/crash-injection.ts'

const storage = new AsyncLocalStorage<SimulatedProcess>()

/** @returns the simulated process whose code is running, or undefined in code of servers, people and checks */
export const currentProcess = (): SimulatedProcess | undefined => storage.getStore()

/** Runs code of a simulated process. All code that it awaits also belongs to the process. */
export const runAsProcess = <T>(process: SimulatedProcess, run: () => T): T => storage.run(process, run)

/** @returns the process; the actions that it schedules belong to it, even if another process causes them */
export function withOwnActions(process: SimulatedProcess): SimulatedProcess {
  const own: SimulatedProcess = {
    ...process,
    later: (delayMs, action, label, orElse) => process.later(delayMs, () => runAsProcess(own, action), label, orElse),
  }
  return own
}
