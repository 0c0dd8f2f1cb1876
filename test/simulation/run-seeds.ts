import { planOf } from './draw-plan.ts'
import { isWorkerLost, type Pool } from './pool.ts'
import type { Outcome } from './run-plan.ts'
import { type Sums, tally, type Tally } from './tally.ts'

/** Failed seeds after which there is enough to look at. */
const MOST_FAILED = 5

export type Seeds = {
  readonly from: number
  readonly count: number
  /** So many at a time. */
  readonly lanes: number
  /** No failure ends the run. Else a few do, and a lost worker at once: it says more about the machine than about a seed. */
  readonly keepGoing: boolean
}

/** What became of many seeds: of all that were asked for, or of as many as came before the run ended. */
export type Run = Pick<Seeds, 'from' | 'count'> & { readonly sums: Tally; readonly failed: readonly Outcome[] }

/** How far a run has come: what it needs to go on at another time. */
export type Progress = { readonly done: readonly number[]; readonly failed: readonly Outcome[]; readonly sums: Sums }

/**
 * @param told hears of each seed as it comes
 * @param before the run that this one goes on with
 */
export async function runSeeds(
  pool: Pick<Pool, 'run'>,
  { from, count, lanes, keepGoing }: Seeds,
  told: (outcome: Outcome, sums: Tally, progress: () => Progress) => void,
  before?: Progress,
): Promise<Run> {
  const sums = tally(before?.sums)
  const failed: Outcome[] = [...(before?.failed ?? [])]
  const done = new Set(before?.done)
  const progress = (): Progress => ({ done: [...done], failed, sums: sums.toSums() })
  const isOver = (): boolean => !keepGoing && (failed.length >= MOST_FAILED || failed.some(isWorkerLost))
  let next = from
  const lane = async (): Promise<void> => {
    for (let seed = next++; seed < from + count && !isOver(); seed = next++) {
      if (done.has(seed)) continue
      const outcome = await pool.run({ plan: planOf(seed) })
      sums.add(outcome)
      done.add(seed)
      if (outcome.broken) failed.push(outcome)
      told(outcome, sums, progress)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return { from, count, sums, failed }
}

export const isWhole = ({ count, sums }: Run): boolean => sums.seeds() === count
