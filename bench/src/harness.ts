/** Measures once. @returns one figure for each row */
export type Measurement = () => Promise<readonly number[]>

export type BenchmarkRow = {
  readonly description: string
  readonly unit: string
  /** Measured divided by its reference, for each round. */
  readonly ratios: readonly number[]
  readonly figures: readonly number[]
  readonly reference: { readonly name: string; readonly figures: readonly number[] }
  /** Minimum ratio, for rows whose figures should be large. */
  readonly target?: number
  /** Maximum ratio, for rows whose figures should be small. */
  readonly maxRatio?: number
}

/** Judges the median ratio of a row by its target. @returns undefined if the row has no target */
export function judgeRow({
  ratios,
  target,
  maxRatio,
}: BenchmarkRow): { readonly requirement: string; readonly hasMissed: boolean } | undefined {
  const ratio = computeQuantile(ratios, 0.5)
  if (target !== undefined) return { requirement: `>= ${target}`, hasMissed: !(ratio >= target) }
  if (maxRatio !== undefined) return { requirement: `<= ${maxRatio}`, hasMissed: !(ratio <= maxRatio) }
  return undefined
}

/** `isQuick`: one small round that only shows that the benchmark still runs. Its figures have no meaning. */
export type BenchmarkSize = { readonly isQuick: boolean }

/** A benchmark measures one subject and returns all its rows. */
export type Benchmark = { readonly name: string; readonly run: (size: BenchmarkSize) => Promise<readonly BenchmarkRow[]> }

export type Comparison = {
  /** Descriptions of the figures that `measure` returns, in the same order. */
  readonly rows: readonly Pick<BenchmarkRow, 'description' | 'unit' | 'target' | 'maxRatio'>[]
  readonly measure: Measurement
  readonly reference: { readonly name: string; readonly measure: Measurement }
  readonly rounds: number
}

/**
 * Measures in rounds that alternate with measurements of a reference, because the speed of a machine drifts. A round's ratio is
 * its figure divided by the mean of the reference figures before and after the round.
 */
export async function compareToReference({ rows, measure, reference, rounds }: Comparison): Promise<readonly BenchmarkRow[]> {
  const measured: (readonly number[])[] = []
  const references = [await reference.measure()]
  for (let round = 0; round < rounds; round++) {
    measured.push(await measure())
    references.push(await reference.measure())
  }
  const at = (figures: readonly number[] | undefined, n: number): number => figures?.[n] ?? Number.NaN
  return rows.map((row, n) => ({
    ...row,
    figures: measured.map((figures) => at(figures, n)),
    reference: { name: reference.name, figures: references.map((figures) => at(figures, n)) },
    ratios: measured.map((figures, round) => (2 * at(figures, n)) / (at(references[round], n) + at(references[round + 1], n))),
  }))
}

/** @returns operations per second; `run` does `count` operations */
export async function measureRate(count: number, run: () => Promise<void> | void): Promise<number> {
  const startedAt = performance.now()
  await run()
  return (count * 1000) / (performance.now() - startedAt)
}

/** Interpolates linearly between the two nearest values, so the 10 % quantile of seven values is above the smallest value. */
export function computeQuantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const rank = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(rank)] ?? Number.NaN, sorted[Math.ceil(rank)] ?? Number.NaN]
  return below + (above - below) * (rank - Math.floor(rank))
}
