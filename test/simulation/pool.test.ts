import { afterEach, expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import type { Plan } from './plan.ts'
import { isWorkerLost, openPool, type Pool } from './pool.ts'
import { isWhole, runSeeds } from './run-seeds.ts'

let pool: Pool
afterEach(() => pool.close())

const killed = 'its worker lives: it was killed by SIGKILL'
const killAll = (): void => {
  for (const pid of pool.pids()) process.kill(pid, 'SIGKILL')
}
/** The worker of the so many-th seed is killed while it has its plan in hand. */
function killing(which: number): Pool {
  let begun = 0
  return openPool(1, { begun: () => void (++begun === which && killAll()) })
}

test('a worker that is killed fails its plan, and another one goes on', { timeout: 120_000 }, async () => {
  pool = killing(2)
  const [pid] = pool.pids()
  const told: string[] = []
  // It has run one plan to its end by then: it is the second that it is in.
  const run = await runSeeds(pool, { from: 1, count: 3, lanes: 1, keepGoing: true }, ({ plan, broken }) =>
    told.push(`${plan.seed} ${broken?.message}`),
  )
  expect(told).toEqual(['1 undefined', `2 ${killed}`, '3 undefined'])
  expect(run.failed.map(({ plan, broken }) => [plan.seed, broken?.message])).toEqual([[2, killed]])
  expect(isWhole(run)).toBe(true)
  expect(run.sums.steps()).toBeGreaterThan(100)
  expect(pool.pids()).not.toContain(pid)
  expect(pool.strays()).toEqual([])
})

test('unless everything is to be run, a killed worker ends the run, with what was met so far', { timeout: 120_000 }, async () => {
  pool = killing(1)
  const run = await runSeeds(pool, { from: 1, count: 3, lanes: 1, keepGoing: false }, () => undefined)
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
    await ended(idle)
    expect((await pool.run({ plan: quiet })).broken).toBe(undefined)
    expect(pool.strays()).toEqual(['a worker without a plan, before its first one: it was killed by SIGKILL'])
  },
)

test('a worker that ends before it begins costs its plan nothing, and is told', { timeout: 120_000 }, async () => {
  let begun = 0
  pool = openPool(1, { begun: () => void begun++ })
  expect((await pool.run({ plan: { ...quiet, seed: 7 } })).broken).toBe(undefined)
  const [pid = NaN] = pool.pids()
  // It has been sent its task, and cannot read it.
  process.kill(pid, 'SIGSTOP')
  const outcome = pool.run({ plan: { ...quiet, seed: 8 } })
  process.kill(pid, 'SIGKILL')
  const { plan, broken } = await outcome
  expect([plan.seed, broken, begun]).toEqual([8, undefined, 2])
  expect(pool.strays()).toEqual(['a worker without a plan, after seed 7: it was killed by SIGKILL'])
})

test(
  'a worker that says nothing any more is ended, which fails its plan, and another one goes on',
  { timeout: 120_000 },
  async () => {
    const over = Promise.withResolvers<void>()
    const patience: Promise<void>[] = [over.promise]
    pool = openPool(1, { patience: () => patience.shift() ?? new Promise(() => undefined) })
    const [pid = NaN] = pool.pids()
    process.kill(pid, 'SIGSTOP')
    const outcome = pool.run({ plan: { ...quiet, seed: 9 } })
    over.resolve()
    const { plan, broken } = await outcome
    expect([plan.seed, broken?.message]).toEqual([9, 'its worker lives: it gave no answer for minutes'])
    expect((await pool.run({ plan: quiet })).broken).toBe(undefined)
    expect(pool.strays()).toEqual([])
  },
)

/** Nothing goes wrong in it, and nobody buys. */
const quiet: Plan = {
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

async function ended(pid: number): Promise<void> {
  for (let looks = 0; looks < 10_000 && isRunning(pid); looks++) await new Promise((resolve) => setImmediate(resolve))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
