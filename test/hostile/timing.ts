/** What either of two is answered in may differ by so much, over HTTP: less than one look-up more takes. */
export const ALIKE = { least: 0.75, most: 1.33 } as const

/** One run of bad luck is not what the middle of so many says. */
const BATCHES = 7

/**
 * How many times as long the second takes as the first. They take turns, and of each batch the quickest quarter counts: what
 * a busy machine adds makes times longer, never shorter. @returns the middle one of the batches' ratios
 */
export async function ratioOf(rounds: number, first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<number> {
  const ratios: number[] = []
  for (let batch = 0; batch < BATCHES; batch++) {
    const times: { readonly first: number[]; readonly second: number[] } = { first: [], second: [] }
    for (let round = 0; round < rounds; round++) {
      times.first.push(await timeOf(first))
      times.second.push(await timeOf(second))
    }
    ratios.push(quarter(times.second) / quarter(times.first))
  }
  return ratios.toSorted((one, other) => one - other)[(BATCHES - 1) / 2] ?? Number.NaN
}

async function timeOf(ask: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await ask()
  return performance.now() - began
}

const quarter = (all: readonly number[]): number => all.toSorted((one, other) => one - other)[Math.floor(all.length / 4)] ?? 0
