import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createResumableRun } from './resume.ts'
import type { SimulationWorkers } from './pool.ts'
import type { SeedOutcome } from './run-plan.ts'
import { isComplete, type RunProgress, runSeeds } from './run-seeds.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'penstock-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Creates a pool that records its seeds in `ran`. Each seed has another outcome, and every fourth seed fails. */
function createPool(ran: number[]): Pick<SimulationWorkers, 'run'> {
  return {
    run({ plan }) {
      ran.push(plan.seed)
      const violation = plan.seed % 4 === 0 ? { invariant: 'money', message: `of ${plan.seed}`, stack: '' } : undefined
      const outcome: SeedOutcome = {
        plan,
        violation,
        scheduleTrace: '',
        steps: plan.seed,
        virtualMs: 10,
        cpuMs: 1,
        faults: { slow: 1, [`killed ${plan.seed}`]: 1 },
        transitions: { [`order: ${plan.seed % 3}`]: 1 },
        statuses: { ADMIN_CLOSED: 1 },
        events: 1,
        crashPoints: [`call.${plan.seed % 2}`],
        flowLinks: [],
        recentSteps: [],
        traceLines: [],
      }
      return Promise.resolve(outcome)
    },
  }
}

const SEED_RANGE = { from: 1, count: 10, workerCount: 2, keepGoing: true }
const commit = 'f480362'
const runKey = { from: SEED_RANGE.from, count: SEED_RANGE.count, commit }
const readSameCommit = (): string => commit
const progress: RunProgress = {
  doneSeeds: [1],
  failed: [],
  totals: { seeds: 1, steps: 1, virtualMs: 1, faults: {}, transitions: {}, statuses: {}, crashPoints: [] },
}

test('a resumed run runs only the missing seeds, and has the totals and failures of an uninterrupted run', async () => {
  const resumable = createResumableRun(join(folder, 'cache'), runKey, readSameCommit)
  expect(resumable.read()).toBeUndefined()
  const completeRun = await runSeeds(createPool([]), SEED_RANGE, () => undefined)
  await runSeeds(createPool([]), SEED_RANGE, (_outcome, totals, progress) => {
    if (totals.seeds() === 6) resumable.write(progress())
  })
  const before = resumable.read()
  expect(before?.doneSeeds).toHaveLength(6)
  const ran: number[] = []
  const run = await runSeeds(createPool(ran), SEED_RANGE, () => undefined, before)
  expect([...(before?.doneSeeds ?? []), ...ran].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n + 1))
  const namesOf = ({ failed }: { failed: readonly SeedOutcome[] }) =>
    failed.map(({ plan }) => plan.seed).toSorted((a, b) => a - b)
  expect([isComplete(run), run.totals.toStored(), namesOf(run)]).toEqual([
    true,
    completeRun.totals.toStored(),
    namesOf(completeRun),
  ])
  resumable.remove()
  expect(resumable.read()).toBeUndefined()
})

test('a stored run is not resumed with other seeds, other code or another defect', () => {
  createResumableRun(folder, runKey, readSameCommit).write(progress)
  expect(createResumableRun(folder, runKey, readSameCommit).read()).toEqual(progress)
  for (const change of [{ from: 2 }, { count: 11 }, { commit: 'ed40f93' }, { defect: 'forgets' }])
    expect(createResumableRun(folder, { ...runKey, ...change }, readSameCommit).read()).toBeUndefined()
  const changed = { ...runKey, commit: `${commit} with changes` }
  createResumableRun(folder, changed, () => changed.commit).write(progress)
  expect(createResumableRun(folder, changed, () => changed.commit).read()).toBeUndefined()
  writeFileSync(join(folder, 'run-1-10.json'), '{')
  expect(createResumableRun(folder, runKey, readSameCommit).read()).toBeUndefined()
})

test('a stored run with a defect is resumed only with the same defect, and does not overwrite a run without a defect', () => {
  const sabotaged = { ...runKey, defect: 'forgets' }
  const sabotagedProgress = { ...progress, doneSeeds: [1, 2] }
  createResumableRun(folder, runKey, readSameCommit).write(progress)
  createResumableRun(folder, sabotaged, readSameCommit).write(sabotagedProgress)
  expect(createResumableRun(folder, runKey, readSameCommit).read()).toEqual(progress)
  expect(createResumableRun(folder, sabotaged, readSameCommit).read()).toEqual(sabotagedProgress)
  expect(createResumableRun(folder, { ...sabotaged, defect: 'settles' }, readSameCommit).read()).toBeUndefined()
})

test('a run whose code changes while it runs reports the change, and cannot be resumed', () => {
  let currentCommit = commit
  const resumable = createResumableRun(folder, runKey, () => currentCommit)
  resumable.write(progress)
  expect(resumable.readCode()).toBe(commit)
  currentCommit = `${commit} with changes`
  resumable.write({ ...progress, doneSeeds: [1, 2] })
  // Some seeds have run with the change, so the run cannot be resumed after a revert either.
  currentCommit = commit
  resumable.write({ ...progress, doneSeeds: [1, 2, 3] })
  expect(resumable.readCode()).toBe(`${commit} with changes`)
  expect(createResumableRun(folder, runKey, readSameCommit).read()).toBeUndefined()
})
