/** Does something for a while. @returns one figure for each row that is made of it */
export type Measure = () => Promise<readonly number[]>

export type Row = {
  readonly what: string
  readonly unit: string
  /** Measured divided by its reference, for each round. */
  readonly ratios: readonly number[]
  readonly figures: readonly number[]
  readonly reference: { readonly name: string; readonly figures: readonly number[] }
  /** The least ratio that is good enough. */
  readonly target?: number
  /** The greatest, of rows whose figures should be small. */
  readonly most?: number
}

/** The median ratio against the target of a row; undefined where it has none. */
export function verdictOf({ ratios, target, most }: Row): { readonly wanted: string; readonly isShort: boolean } | undefined {
  const ratio = quantile(ratios, 0.5)
  if (target !== undefined) return { wanted: `>= ${target}`, isShort: !(ratio >= target) }
  if (most !== undefined) return { wanted: `<= ${most}`, isShort: !(ratio <= most) }
  return undefined
}

/** `isQuick`: once and with as little as shows that the benchmark still runs; its figures mean nothing. */
export type Size = { readonly isQuick: boolean }

/** A subject is measured as a whole. */
export type Subject = { readonly name: string; readonly run: (size: Size) => Promise<readonly Row[]> }

export type Comparison = {
  /** What the figures of a measure are, in their order. */
  readonly rows: readonly Pick<Row, 'what' | 'unit' | 'target' | 'most'>[]
  readonly measure: Measure
  readonly reference: { readonly name: string; readonly measure: Measure }
  readonly rounds: number
}

/**
 * Measures beside a reference in interleaved rounds, since machines drift: each ratio is to the mean of the references
 * before and after it.
 */
export async function compare({ rows, measure, reference, rounds }: Comparison): Promise<readonly Row[]> {
  const taken: (readonly number[])[] = []
  const beside = [await reference.measure()]
  for (let round = 0; round < rounds; round++) {
    taken.push(await measure())
    beside.push(await reference.measure())
  }
  const at = (figures: readonly number[] | undefined, n: number): number => figures?.[n] ?? Number.NaN
  return rows.map((row, n) => ({
    ...row,
    figures: taken.map((here) => at(here, n)),
    reference: { name: reference.name, figures: beside.map((figures) => at(figures, n)) },
    ratios: taken.map((here, round) => (2 * at(here, n)) / (at(beside[round], n) + at(beside[round + 1], n))),
  }))
}

/** How often a second something is done that is done `count` times while `work` runs. */
export async function perSecond(count: number, work: () => Promise<void> | void): Promise<number> {
  const started = performance.now()
  await work()
  return (count * 1000) / (performance.now() - started)
}

/** Between the two values that lie around it, as far as it lies between them: of seven, a tenth is no longer the least. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = part * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN]
  return below + (above - below) * (place - Math.floor(place))
}
