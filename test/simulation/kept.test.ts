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
const wanted = { from: seeds.from, count: seeds.count, commit, isPinned: true }
const same = (): string => commit
const progress: Progress = {
  done: [1],
  failed: [],
  sums: { seeds: 1, steps: 1, virtualMs: 1, faults: {}, edges: {}, statuses: {}, points: [] },
}

test('a run that was ended goes on with the seeds that are missing, and comes to the same sums and failures', async () => {
  const kept = keptRun(join(folder, 'cache'), wanted, same)
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

test('a run of other seeds, of other code or of another market does not go on with it', () => {
  keptRun(folder, wanted, same).write(progress)
  expect(keptRun(folder, wanted, same).read()).toEqual(progress)
  for (const other of [{ from: 2 }, { count: 11 }, { commit: 'ed40f93' }, { isPinned: false }, { sabotage: 'forgets' }])
    expect(keptRun(folder, { ...wanted, ...other }, same).read()).toBeUndefined()
  const changed = { ...wanted, commit: `${commit} with changes` }
  keptRun(folder, changed, () => changed.commit).write(progress)
  expect(keptRun(folder, changed, () => changed.commit).read()).toBeUndefined()
  writeFileSync(join(folder, 'run-1-10.json'), '{')
  expect(keptRun(folder, wanted, same).read()).toBeUndefined()
})

test('what is broken on purpose goes on with its own kind, and takes nothing from an honest run', () => {
  const sabotaged = { ...wanted, sabotage: 'forgets' }
  const further = { ...progress, done: [1, 2] }
  keptRun(folder, wanted, same).write(progress)
  keptRun(folder, sabotaged, same).write(further)
  expect(keptRun(folder, wanted, same).read()).toEqual(progress)
  expect(keptRun(folder, sabotaged, same).read()).toEqual(further)
  expect(keptRun(folder, { ...sabotaged, sabotage: 'settles' }, same).read()).toBeUndefined()
})

test('a run whose code changes on the way says so to its end, and nothing goes on with it', () => {
  let present = commit
  const kept = keptRun(folder, wanted, () => present)
  kept.write(progress)
  expect(kept.code()).toBe(commit)
  present = `${commit} with changes`
  kept.write({ ...progress, done: [1, 2] })
  // What was done with it is not undone by taking it back.
  present = commit
  kept.write({ ...progress, done: [1, 2, 3] })
  expect(kept.code()).toBe(`${commit} with changes`)
  expect(keptRun(folder, wanted, same).read()).toBeUndefined()
})
