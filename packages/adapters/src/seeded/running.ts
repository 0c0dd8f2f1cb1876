import { setImmediate as breathe } from 'node:timers/promises'
import { type Engine, engine } from './engine.ts'
import type { FaultPlan } from './faults.ts'

const AHEAD_MS = 60_000
let seeds = 0

/**
 * A world for contract suites, whose tests wait in real time: its own time runs on by itself meanwhile, to whatever waits
 * next, or with `realTime` no faster than a clock on the wall.
 */
export function running(plan: FaultPlan = {}, { realTime = false } = {}): Engine & { readonly stop: () => Promise<void> } {
  // Ahead of the wall where it does not wait for it: what a test noted before is never the later one.
  const startAt = Date.now() + (realTime ? 0 : AHEAD_MS)
  const made = engine({ seed: `contract ${++seeds}`, plan, startAt })
  let isOver = false
  const ended = (async () => {
    while (!isOver) {
      await made.schedule.run({ maxSteps: 100, ...(realTime && { untilMs: Date.now() }) })
      await breathe()
    }
  })()
  return {
    ...made,
    stop: () => {
      isOver = true
      return ended
    },
  }
}
