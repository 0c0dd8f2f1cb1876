import type { OfferTarget } from '@penstock/contracts/matching.ts'
import { type ProcessStep, commandStep, command } from '@penstock/kernel/process.ts'
import { type MatchAttempt, matchAttemptsOf, type Match } from './match.ts'

/**
 * Requests the capacity from the candidates' offers, one after the other. The command RecordReservation contains each answer.
 * A reaction reports the end of a match to its offer, so a finished search needs no step.
 */
export const matchProcess = (match: Match, orderId: string): readonly ProcessStep[] =>
  matchAttemptsOf(match).flatMap(([attempt, state]) => requestReservation(orderId, attempt, state))

function requestReservation(
  orderId: string,
  attempt: number,
  { status, round, acceptsAutomatically, need, candidates }: MatchAttempt,
): readonly ProcessStep[] {
  const [candidate] = candidates
  if ((status !== 'SEARCHING' && status !== 'ASKING_AGAIN') || !candidate || !need) return []
  const { sizeSat, isPrivate } = need
  return [
    commandStep(
      `reserve/${attempt}/${round}/${candidate.offerId}`,
      command<OfferTarget>('offer', candidate.offerId, {
        type: 'Reserve',
        data: { orderId, attempt, round, sizeSat, candidate, isPrivate, autoAccepted: acceptsAutomatically },
      }),
    ),
  ]
}
