/** One way of doing something. `measure` does it for a while and answers how often a second. */
export type Candidate = { readonly name: string; readonly measure: () => Promise<number> | number }

/** A subject prints its own findings. */
export type Subject = { readonly name: string; readonly run: () => Promise<void> }

export type Comparison = {
  readonly title: string
  readonly unit: string
  readonly reference: Candidate
  readonly candidates: readonly Candidate[]
  readonly rounds?: number
}

/**
 * Measures candidates beside a reference in interleaved rounds, since machines drift: each ratio is to the mean of the
 * references before and after it. Prints medians with the span of the middle eight tenths.
 */
export async function compare({ title, unit, reference, candidates, rounds = 15 }: Comparison): Promise<void> {
  const references: number[] = []
  const rates = candidates.map((): number[] => [])
  const ratios = candidates.map((): number[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [n, candidate] of candidates.entries()) {
      const before = await reference.measure()
      const rate = await candidate.measure()
      const after = await reference.measure()
      references.push(before, after)
      rates[n]?.push(rate)
      ratios[n]?.push((2 * rate) / (before + after))
    }
  console.log(`\n${title} (${unit}, ${rounds} rounds)`)
  print(reference.name, references)
  for (const [n, { name }] of candidates.entries()) print(name, rates[n] ?? [], ratios[n])
}

function print(name: string, rates: readonly number[], ratios?: readonly number[]): void {
  const rate = `${amount(quantile(rates, 0.5))} (${amount(quantile(rates, 0.1))} to ${amount(quantile(rates, 0.9))})`
  const ratio = ratios
    ? `   ratio ${share(quantile(ratios, 0.5))} (${share(quantile(ratios, 0.1))} to ${share(quantile(ratios, 0.9))})`
    : '   reference'
  console.log(`  ${name.padEnd(48)} ${rate.padEnd(36)}${ratio}`)
}

const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN

const amount = (value: number): string => Math.round(value).toLocaleString('en')
const share = (value: number): string => value.toFixed(2)

/** How often a second something is done that is done `count` times while `work` runs. */
export async function perSecond(count: number, work: () => Promise<void> | void): Promise<number> {
  const started = performance.now()
  await work()
  return (count * 1000) / (performance.now() - started)
}
