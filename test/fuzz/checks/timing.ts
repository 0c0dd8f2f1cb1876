/** The allowed ratio of two response times over HTTP. One additional database look-up would exceed this range. */
export const SIMILAR_RATIO = { min: 0.75, max: 1.33 } as const

/** Number of batches. Their median hides a single unlucky run. */
const BATCHES = 7

/** Maximum number of measurements. A real difference appears in each measurement; a delay by a busy machine does not. */
const MEASUREMENTS = 4

type RatioRange = { readonly min: number; readonly max: number }
type TimedAction = () => Promise<unknown>

/** @returns the first ratio within the range, or the last ratio after MEASUREMENTS measurements */
export async function measureRatioWithin(
  { min, max }: RatioRange,
  rounds: number,
  first: TimedAction,
  second: TimedAction,
): Promise<number> {
  let ratio = Number.NaN
  for (let count = 0; count < MEASUREMENTS && !(ratio > min && ratio < max); count++)
    ratio = await measureRatio(rounds, first, second)
  return ratio
}

/**
 * Measures the time of the second action divided by the time of the first. The actions alternate. The lower quartile of each
 * batch is used, because a busy machine only makes times longer.
 * @returns the median of the batches' ratios
 */
async function measureRatio(rounds: number, first: TimedAction, second: TimedAction): Promise<number> {
  const ratios: number[] = []
  for (let batch = 0; batch < BATCHES; batch++) {
    const times: { readonly first: number[]; readonly second: number[] } = { first: [], second: [] }
    for (let round = 0; round < rounds; round++) {
      times.first.push(await measureTime(first))
      times.second.push(await measureTime(second))
    }
    ratios.push(findQuickestQuarter(times.second) / findQuickestQuarter(times.first))
  }
  return ratios.toSorted((one, other) => one - other)[(BATCHES - 1) / 2] ?? Number.NaN
}

async function measureTime(action: TimedAction): Promise<number> {
  const startedAt = performance.now()
  await action()
  return performance.now() - startedAt
}

const findQuickestQuarter = (all: readonly number[]): number =>
  all.toSorted((one, other) => one - other)[Math.floor(all.length / 4)] ?? 0
