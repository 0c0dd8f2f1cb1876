import { setImmediate as nextTurn } from 'node:timers/promises'
import { type SimulationEngine, createSimulationEngine } from './simulation-engine.ts'
import type { FaultPlan } from './faults/fault-injector.ts'

const START_AHEAD_MS = 60_000
let seeds = 0

/**
 * A simulation for contract suites, whose tests wait in real time. Its virtual time advances by itself to the next action. With
 * `realTime`, virtual time never passes the wall clock.
 */
export function startAutoAdvance(
  plan: FaultPlan = {},
  { realTime = false } = {},
): SimulationEngine & { readonly stop: () => Promise<void> } {
  // Without `realTime`, virtual time starts ahead of the wall clock, so that it is later than earlier timestamps of a test.
  const startAt = Date.now() + (realTime ? 0 : START_AHEAD_MS)
  const simulation = createSimulationEngine({ seed: `contract ${++seeds}`, plan, startAt })
  let isStopped = false
  const stopped = (async () => {
    while (!isStopped) {
      await simulation.schedule.run({ maxSteps: 100, ...(realTime && { untilMs: Date.now() }) })
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
