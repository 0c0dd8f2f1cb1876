import type { LoadCounts } from './counters.ts'

export type OmissionCounts = Pick<LoadCounts, 'arrived' | 'shed' | 'held' | 'unasked' | 'unsent'>

/**
 * Describes the orders and requests that were due and never sent. Without them the latencies look too low, because these orders
 * and requests would have waited longest.
 * @returns null if all that were due were sent
 */
export function describeOmission({ arrived, shed, held, unasked, unsent }: OmissionCounts): string | null {
  const orderReasons = [
    ...(shed > 0 ? [`${shed} shed because too many were in flight`] : []),
    ...(held > 0 ? [`${held} held back because the market requested a pause`] : []),
  ]
  const parts = [
    ...(shed + held > 0
      ? [`${shed + held} of the ${arrived} due orders are missing from the latencies: ${orderReasons.join(', ')}`]
      : []),
    ...(unasked > 0 ? [`${unasked} polls of get_order held back because the market requested a pause`] : []),
    ...(unsent > 0 ? [`${unsent} requests never sent because none of this program's connections was free in time`] : []),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}
