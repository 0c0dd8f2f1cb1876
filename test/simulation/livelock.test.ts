import { expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import { MOST_STEPS } from './plan.ts'
import { startReplica } from './replica.ts'
import { runPlan } from './run-plan.ts'

test(
  'a seed whose clock stands still while it goes on for ever fails, after as many steps each time',
  { timeout: 300_000 },
  async () => {
    const outcome = await runPlan({ ...planOf(1), old: [] }, { today: startReplica, pinned: undefined }, (world) => {
      const { schedule } = world.engine
      const spin = (): void => void schedule.later(0, spin, 'spins')
      schedule.later(5000, spin, 'begins to spin')
      return world
    })
    expect(outcome.broken?.message).toContain(`${MOST_STEPS} steps, and no end: `)
    expect(outcome.broken?.message).toContain(' spins')
    expect([outcome.plan.seed, outcome.steps]).toEqual([1, MOST_STEPS])
  },
)
