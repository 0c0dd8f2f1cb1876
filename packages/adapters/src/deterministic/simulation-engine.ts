import { type FaultPlan, type FaultInjector, createFaultInjector } from './faults/fault-injector.ts'
import { type SimulatedProcess, createSimulatedProcess, type SimulatedProcessOptions } from './faults/crash-injection.ts'
import { type VirtualSchedule, createVirtualSchedule, type VirtualScheduleOptions } from './virtual-schedule.ts'

export type SimulationEngineOptions = VirtualScheduleOptions & { readonly seed: string | number; readonly plan?: FaultPlan }

/** A simulation of one seed: its virtual time, its faults and its processes. */
export type SimulationEngine = {
  readonly schedule: VirtualSchedule
  readonly faults: FaultInjector
  /** Starts a process. Each start of a name gets a number and a random generator of its own. */
  readonly startProcess: (name: string, options?: SimulatedProcessOptions) => SimulatedProcess
}

export function createSimulationEngine({ seed, plan, ...options }: SimulationEngineOptions): SimulationEngine {
  const virtualSchedule = createVirtualSchedule(seed, options)
  const injector = createFaultInjector(plan)
  const startCounts = new Map<string, number>()
  return {
    schedule: virtualSchedule,
    faults: injector,
    startProcess(name, processOptions) {
      const startCount = (startCounts.get(name) ?? 0) + 1
      startCounts.set(name, startCount)
      return createSimulatedProcess(
        { name: `${name}#${startCount}`, schedule: virtualSchedule, faults: injector },
        processOptions,
      )
    },
  }
}
