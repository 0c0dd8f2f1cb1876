import type { Counts } from './tally.ts'

export type Due = Pick<Counts, 'arrived' | 'shed' | 'held' | 'unasked' | 'unsent'>

/**
 * What was due and never sent: a market that stands still is asked less, and each order and each question that it was not
 * asked would have waited longest.
 * @returns null where all that was due was sent
 */
export function omitted({ arrived, shed, held, unasked, unsent }: Due): string | null {
  const why = [
    ...(shed > 0 ? [`${shed} were shed, since too many were under way`] : []),
    ...(held > 0 ? [`${held} held back, since the market asked for a pause`] : []),
  ]
  const parts = [
    ...(shed + held > 0 ? [`${shed + held} of the ${arrived} orders that were due are in no latency: ${why.join(', ')}`] : []),
    ...(unasked > 0 ? [`${unasked} of get_order's beats were held back, since the market asked for a pause`] : []),
    ...(unsent > 0 ? [`${unsent} requests never left, since none of this program's connections was free in time`] : []),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}
