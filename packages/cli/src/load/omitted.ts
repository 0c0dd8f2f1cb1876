import type { Counts } from './tally.ts'

/**
 * What the latencies lack: a market that stands still is asked less, and each order that it was not asked for would have
 * waited longest.
 * @returns null where every order that was due was sent
 */
export function omitted({ arrived, shed, held }: Pick<Counts, 'arrived' | 'shed' | 'held'>): string | null {
  if (shed + held === 0) return null
  const why = [
    ...(shed > 0 ? [`${shed} were shed, since too many were under way`] : []),
    ...(held > 0 ? [`${held} held back, since the market asked for a pause`] : []),
  ]
  return `${shed + held} of the ${arrived} orders that were due are in no latency: ${why.join(', ')}`
}
