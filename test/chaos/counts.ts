export type CountsByName = Readonly<Record<string, number>>

export const formatCounts = (counts: CountsByName): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')

export function countNames(names: readonly string[]): CountsByName {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** @param requirements the keys complete the sentence "There never was …" @returns a sentence for each unmet requirement */
export const findUnmetRequirements = <Round>(
  requirements: Readonly<Record<string, (round: Round) => boolean>>,
  rounds: readonly Round[],
): readonly string[] =>
  Object.entries(requirements).flatMap(([requirement, isMet]) => (rounds.some(isMet) ? [] : [`There never was ${requirement}.`]))
