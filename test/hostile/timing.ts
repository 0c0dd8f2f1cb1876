/** What either of two is answered in may differ by so much: far less than a look-up or a signature takes. */
export const ALIKE = { least: 0.75, most: 1.33 } as const

/**
 * How many times as long the second takes as the first. They take turns, and of each the quickest quarter counts: what a
 * busy machine adds makes times longer, never shorter.
 */
export async function ratioOf(rounds: number, first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<number> {
  const times: { readonly first: number[]; readonly second: number[] } = { first: [], second: [] }
  for (let round = 0; round < rounds; round++) {
    times.first.push(await timeOf(first))
    times.second.push(await timeOf(second))
  }
  return quarter(times.second) / quarter(times.first)
}

async function timeOf(ask: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await ask()
  return performance.now() - began
}

const quarter = (all: readonly number[]): number => all.toSorted((one, other) => one - other)[Math.floor(all.length / 4)] ?? 0
