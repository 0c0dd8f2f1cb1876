import { afterEach, expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import { isWorkerLost, openPool, type Pool } from './pool.ts'
import { isWhole, runSeeds } from './run-seeds.ts'

let pool: Pool
afterEach(() => pool.close())

const killed = 'its worker lives: it was killed by SIGKILL'
/** The worker of the so many-th seed is killed while it has its plan in hand. */
const killing = (which: number): Pick<Pool, 'run'> => {
  let runs = 0
  return {
    run: (task) => {
      const outcome = pool.run(task)
      if (++runs === which) for (const pid of pool.pids()) process.kill(pid, 'SIGKILL')
      return outcome
    },
  }
}

test('a worker that is killed fails its plan, and another one goes on', { timeout: 120_000 }, async () => {
  pool = openPool(1)
  const [pid] = pool.pids()
  const told: string[] = []
  // It has run one plan to its end by then: it is the second that it is in.
  const run = await runSeeds(killing(2), { from: 1, count: 3, lanes: 1, keepGoing: true }, ({ plan, broken }) =>
    told.push(`${plan.seed} ${broken?.message}`),
  )
  expect(told).toEqual(['1 undefined', `2 ${killed}`, '3 undefined'])
  expect(run.failed.map(({ plan, broken }) => [plan.seed, broken?.message])).toEqual([[2, killed]])
  expect(isWhole(run)).toBe(true)
  expect(run.sums.steps()).toBeGreaterThan(100)
  expect(pool.pids()).not.toContain(pid)
})

test('unless everything is to be run, a killed worker ends the run, with what was met so far', { timeout: 120_000 }, async () => {
  pool = openPool(1)
  const run = await runSeeds(killing(1), { from: 1, count: 3, lanes: 1, keepGoing: false }, () => undefined)
  expect(run.failed.map(({ plan }) => plan.seed)).toEqual([1])
  expect(run.failed.every(isWorkerLost)).toBe(true)
  expect([run.sums.seeds(), isWhole(run)]).toEqual([1, false])
})

test(
  'a worker that ends by itself says so with its exit code, and one that is gone before it is asked is replaced',
  { timeout: 120_000 },
  async () => {
    pool = openPool(1)
    // No plan that can be run: the worker ends.
    const { broken } = await pool.run({ plan: { ...planOf(1), old: null as unknown as [] } })
    expect(broken?.message).toBe('its worker lives: it ended with exit code 1')
    const [idle = NaN] = pool.pids()
    process.kill(idle, 'SIGKILL')
    for (let looks = 0; looks < 10_000 && isRunning(idle); looks++) await new Promise((resolve) => setImmediate(resolve))
    const plan = {
      ...planOf(1),
      purchases: [],
      cues: [],
      deeds: [],
      weather: [],
      deaths: [],
      fatalCalls: [],
      faults: {},
      old: [],
    }
    expect((await pool.run({ plan })).broken).toBe(undefined)
  },
)

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
