import { expect, test } from 'vitest'
import { drawPlan } from './plan/draw-plan.ts'
import { MAX_STEPS } from './plan/plan.ts'
import { runPlan } from './run-plan.ts'

test(
  'a run fails at the maximum number of steps if its steps never end and its clock does not advance',
  { timeout: 300_000 },
  async () => {
    const outcome = await runPlan({ ...drawPlan(1), rolledOutProcesses: [] }, (world) => {
      const { schedule } = world.engine
      const spin = (): void => void schedule.later(0, spin, 'spins')
      schedule.later(5000, spin, 'begins to spin')
      return world
    })
    expect(outcome.violation?.message).toContain(`${MAX_STEPS} steps, and no end: `)
    expect(outcome.violation?.message).toContain(' spins')
    expect([outcome.plan.seed, outcome.steps]).toEqual([1, MAX_STEPS])
  },
)
