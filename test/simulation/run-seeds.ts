import { planOf } from './draw-plan.ts'
import { isWorkerLost, type Pool } from './pool.ts'
import type { Outcome } from './run-plan.ts'
import { tally, type Tally } from './tally.ts'

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

/** @param told hears of each seed as it comes */
export async function runSeeds(
  pool: Pick<Pool, 'run'>,
  { from, count, lanes, keepGoing }: Seeds,
  told: (outcome: Outcome, sums: Tally) => void,
): Promise<Run> {
  const sums = tally()
  const failed: Outcome[] = []
  const isOver = (): boolean => !keepGoing && (failed.length >= MOST_FAILED || failed.some(isWorkerLost))
  let next = from
  const lane = async (): Promise<void> => {
    for (let seed = next++; seed < from + count && !isOver(); seed = next++) {
      const outcome = await pool.run({ plan: planOf(seed) })
      sums.add(outcome)
      if (outcome.broken) failed.push(outcome)
      told(outcome, sums)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return { from, count, sums, failed }
}

export const isWhole = ({ count, sums }: Run): boolean => sums.seeds() === count
