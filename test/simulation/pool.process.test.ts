import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { drawPlan } from './plan/draw-plan.ts'
import type { SimulationPlan } from './plan/plan.ts'
import { isWorkerLost, type SimulationWorkers } from './pool.ts'
import { isComplete, runSeeds } from './run-seeds.ts'
import { createTestWorkers } from './test-workers.ts'

let pool: SimulationWorkers
afterEach(() => pool.close())

const killed = 'the worker survives: it was killed by SIGKILL'
const killAll = (): void => {
  for (const pid of pool.pids()) process.kill(pid, 'SIGKILL')
}
/** Creates a pool whose only worker is killed while it runs task number `which`. */
function killWorkers(which: number): SimulationWorkers {
  let [assigned, begun] = [0, 0]
  const workers = createTestWorkers(1, { onBegun: () => void (++begun === which && killAll()) })
  return {
    ...workers,
    // This task takes so long that its worker cannot end it before the kill.
    run: ({ plan }) => workers.run({ plan: ++assigned === which ? { ...plan, workloadMs: 3_600_000 } : plan }),
  }
}

test('a plan fails if its worker is killed, and another worker runs the next plans', async () => {
  pool = killWorkers(2)
  const [pid] = pool.pids()
  const exits: string[] = []
  // The worker is killed during its second plan.
  const run = await runSeeds(pool, { from: 1, count: 3, workerCount: 1, keepGoing: true }, ({ plan, violation }) =>
    exits.push(`${plan.seed} ${violation?.message}`),
  )
  expect(exits).toEqual(['1 undefined', `2 ${killed}`, '3 undefined'])
  expect(run.failed.map(({ plan, violation }) => [plan.seed, violation?.message])).toEqual([[2, killed]])
  expect(isComplete(run)).toBe(true)
  expect(run.totals.steps()).toBeGreaterThan(100)
  expect(pool.pids()).not.toContain(pid)
  expect(pool.unexpectedExits()).toEqual([])
})

test('a run without keepGoing ends if a worker is killed, and keeps its totals', async () => {
  pool = killWorkers(1)
  const run = await runSeeds(pool, { from: 1, count: 3, workerCount: 1, keepGoing: false }, () => undefined)
  expect(run.failed.map(({ plan }) => plan.seed)).toEqual([1])
  expect(run.failed.every(isWorkerLost)).toBe(true)
  expect([run.totals.seeds(), isComplete(run)]).toEqual([1, false])
})

test('a plan fails with the exit code of its worker if the worker exits, and a worker that ends while idle is replaced', async () => {
  pool = createTestWorkers(1)
  // The worker exits, because it does not know the defect.
  const { violation } = await pool.run({ plan: planWithoutActions, defect: 'no such defect' })
  expect(violation?.message).toBe('the worker survives: it ended with exit code 1')
  const [idle = NaN] = pool.pids()
  process.kill(idle, 'SIGKILL')
  await waitUntil('the end of the idle worker', () => !isRunning(idle))
  expect((await pool.run({ plan: planWithoutActions })).violation).toBe(undefined)
  expect(pool.unexpectedExits()).toEqual(['a worker without a plan, before its first one: it was killed by SIGKILL'])
})

test('a worker that ends before it reads its plan is reported, and another worker runs the plan', async () => {
  let started = 0
  pool = createTestWorkers(1, { onBegun: () => void started++ })
  expect((await pool.run({ plan: { ...planWithoutActions, seed: 7 } })).violation).toBe(undefined)
  const [pid = NaN] = pool.pids()
  // The worker is paused, so it cannot read the task that the pool sends.
  process.kill(pid, 'SIGSTOP')
  const outcome = pool.run({ plan: { ...planWithoutActions, seed: 8 } })
  process.kill(pid, 'SIGKILL')
  const { plan, violation } = await outcome
  expect([plan.seed, violation, started]).toEqual([8, undefined, 2])
  expect(pool.unexpectedExits()).toEqual(['a worker without a plan, after seed 7: it was killed by SIGKILL'])
})

test('a worker that does not answer until the timeout is killed, its plan fails, and another worker runs the next plan', async () => {
  const finished = Promise.withResolvers<void>()
  const timeouts: Promise<void>[] = [finished.promise]
  pool = createTestWorkers(1, { waitForTimeout: () => timeouts.shift() ?? new Promise(() => undefined) })
  const [pid = NaN] = pool.pids()
  process.kill(pid, 'SIGSTOP')
  const outcome = pool.run({ plan: { ...planWithoutActions, seed: 9 } })
  finished.resolve()
  const { plan, violation } = await outcome
  expect([plan.seed, violation?.message]).toEqual([9, 'the worker survives: it gave no answer for minutes'])
  expect((await pool.run({ plan: planWithoutActions })).violation).toBe(undefined)
  expect(pool.unexpectedExits()).toEqual([])
})

/** A plan without faults and without purchases. */
const planWithoutActions: SimulationPlan = {
  ...drawPlan(1),
  purchases: [],
  triggers: [],
  operatorActions: [],
  networkEvents: [],
  kills: [],
  crashPoints: [],
  faults: {},
  rolledOutProcesses: [],
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
