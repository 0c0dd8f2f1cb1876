import type { OfferCommand } from '@penstock/contracts/matching.ts'
import { type Next, tell } from '@penstock/kernel/process.ts'
import { type Attempt, attemptsOf, type Match } from './match.ts'

/**
 * Whoever is searched for is asked for its capacity, one offer after the other; the answer comes back as
 * RecordReservation. What ends a match is told to the offer by a reaction on that fact, so that a search that is over
 * asks for nothing.
 */
export const searching = (match: Match, orderId: string): readonly Next[] =>
  attemptsOf(match).flatMap(([attempt, state]) => ask(orderId, attempt, state))

function ask(orderId: string, attempt: number, { status, round, standing, need, candidates }: Attempt): readonly Next[] {
  const [candidate] = candidates
  if ((status !== 'SEARCHING' && status !== 'ASKING_AGAIN') || !candidate || !need) return []
  const { sizeSat, isPrivate } = need
  return [
    tell<OfferCommand>('offer', candidate.offerId, `reserve/${attempt}/${round}/${candidate.offerId}`, {
      type: 'Reserve',
      data: { orderId, attempt, round, sizeSat, candidate, isPrivate, standing },
    }),
  ]
}
