import { setImmediate as nextTurn } from 'node:timers/promises'
import { type SimulationEngine, createSimulationEngine } from './simulation-engine.ts'
import type { FaultPlan } from './faults/fault-injector.ts'

/** A simulation for contract suites, whose tests wait in real time. Its virtual time advances by itself to the next action. */
export function startAutoAdvance(seed: string, plan: FaultPlan = {}): SimulationEngine & { readonly stop: () => Promise<void> } {
  const simulation = createSimulationEngine({ seed, plan })
  let isStopped = false
  const stopped = (async () => {
    while (!isStopped) {
      await simulation.schedule.run({ maxSteps: 100 })
      await nextTurn()
    }
  })()
  return {
    ...simulation,
    stop: () => {
      isStopped = true
      return stopped
    },
  }
}
