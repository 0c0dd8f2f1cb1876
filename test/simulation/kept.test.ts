import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keptRun } from './kept.ts'
import type { Pool } from './pool.ts'
import type { Outcome } from './run-plan.ts'
import { isWhole, type Progress, runSeeds } from './run-seeds.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'penstock-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Each seed meets something of its own, and every fourth breaks. */
function poolOf(ran: number[]): Pick<Pool, 'run'> {
  return {
    run({ plan }) {
      ran.push(plan.seed)
      const broken = plan.seed % 4 === 0 ? { invariant: 'money', message: `of ${plan.seed}`, stack: '' } : undefined
      const outcome: Outcome = {
        plan,
        broken,
        trace: '',
        steps: plan.seed,
        virtualMs: 10,
        cpuMs: 1,
        faults: { slow: 1, [`killed ${plan.seed}`]: 1 },
        edges: { [`order: ${plan.seed % 3}`]: 1 },
        statuses: { ADMIN_CLOSED: 1 },
        events: 1,
        points: [`call.${plan.seed % 2}`],
        recent: [],
        diary: [],
      }
      return Promise.resolve(outcome)
    },
  }
}

const seeds = { from: 1, count: 10, lanes: 2, keepGoing: true }
const commit = 'f480362'

test('a run that was ended goes on with the seeds that are missing, and comes to the same sums and failures', async () => {
  const kept = keptRun(join(folder, 'cache'), { ...seeds, commit })
  expect(kept.read()).toBeUndefined()
  const whole = await runSeeds(poolOf([]), seeds, () => undefined)
  await runSeeds(poolOf([]), seeds, (_outcome, sums, progress) => {
    if (sums.seeds() === 6) kept.write(progress())
  })
  const before = kept.read()
  expect(before?.done).toHaveLength(6)
  const ran: number[] = []
  const run = await runSeeds(poolOf(ran), seeds, () => undefined, before)
  expect([...(before?.done ?? []), ...ran].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n + 1))
  const namesOf = ({ failed }: { failed: readonly Outcome[] }) => failed.map(({ plan }) => plan.seed).toSorted((a, b) => a - b)
  expect([isWhole(run), run.sums.toSums(), namesOf(run)]).toEqual([true, whole.sums.toSums(), namesOf(whole)])
  kept.remove()
  expect(kept.read()).toBeUndefined()
})

test('a run of other seeds or of other code does not go on with it', () => {
  const progress: Progress = {
    done: [1],
    failed: [],
    sums: { seeds: 1, steps: 1, virtualMs: 1, faults: {}, edges: {}, statuses: {}, points: [] },
  }
  keptRun(folder, { ...seeds, commit }).write(progress)
  expect(keptRun(folder, { ...seeds, commit }).read()).toEqual(progress)
  for (const other of [{ from: 2 }, { count: 11 }, { commit: 'ed40f93' }])
    expect(keptRun(folder, { ...seeds, commit, ...other }).read()).toBeUndefined()
  const changed = { ...seeds, commit: `${commit} with changes` }
  keptRun(folder, changed).write(progress)
  expect(keptRun(folder, changed).read()).toBeUndefined()
  writeFileSync(join(folder, 'run-1-10.json'), '{')
  expect(keptRun(folder, { ...seeds, commit }).read()).toBeUndefined()
})
