import { drawPlan } from './plan/draw-plan.ts'
import { isWorkerLost, type SimulationWorkers } from './pool.ts'
import type { SeedOutcome } from './run-plan.ts'
import { type StoredTotals, createSeedTotals, type SeedTotals } from './seed-totals.ts'

/** The number of failed seeds at which a run without `keepGoing` ends. */
const MAX_FAILED = 5

export type SeedRange = {
  readonly from: number
  readonly count: number
  /** The number of seeds that run at a time. */
  readonly workerCount: number
  /**
   * Whether the run continues after failures. Otherwise it ends after `MAX_FAILED` failures, or after one lost worker, which the
   * machine has probably caused.
   */
  readonly keepGoing: boolean
}

/** The outcome of a run. A run that ends early has run only some of the requested seeds. */
export type SeedRun = Pick<SeedRange, 'from' | 'count'> & { readonly totals: SeedTotals; readonly failed: readonly SeedOutcome[] }

/** The progress of a run, from which it can be resumed. */
export type RunProgress = {
  readonly doneSeeds: readonly number[]
  readonly failed: readonly SeedOutcome[]
  readonly totals: StoredTotals
}

/**
 * Runs the seeds of a range in parallel.
 * @param onOutcome is called with the outcome of each seed
 * @param previous the progress of the run to resume
 */
export async function runSeeds(
  pool: Pick<SimulationWorkers, 'run'>,
  { from, count, workerCount, keepGoing }: SeedRange,
  onOutcome: (outcome: SeedOutcome, totals: SeedTotals, progress: () => RunProgress) => void,
  previous?: RunProgress,
): Promise<SeedRun> {
  const totals = createSeedTotals(previous?.totals)
  const failed: SeedOutcome[] = [...(previous?.failed ?? [])]
  const doneSeeds = new Set(previous?.doneSeeds)
  const progress = (): RunProgress => ({ doneSeeds: [...doneSeeds], failed, totals: totals.toStored() })
  const isOver = (): boolean => !keepGoing && (failed.length >= MAX_FAILED || failed.some(isWorkerLost))
  let next = from
  const runWorker = async (): Promise<void> => {
    for (let seed = next++; seed < from + count && !isOver(); seed = next++) {
      if (doneSeeds.has(seed)) continue
      const outcome = await pool.run({ plan: drawPlan(seed) })
      totals.add(outcome)
      doneSeeds.add(seed)
      if (outcome.violation) failed.push(outcome)
      onOutcome(outcome, totals, progress)
    }
  }
  await Promise.all(Array.from({ length: workerCount }, runWorker))
  return { from, count, totals, failed }
}

export const isComplete = ({ count, totals }: SeedRun): boolean => totals.seeds() === count
