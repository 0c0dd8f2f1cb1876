import type { MatchCommand, MatchFact } from '@penstock/contracts/matching.ts'
import type { Candidate, FundingFeesData } from '@penstock/contracts/shapes.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { type MatchAttempt, matchAttemptOf, evolveMatch, type Match, noMatch } from './match.ts'

/**
 * Enrichment adds the candidates, best first, and the present funding fees. `fundingFees` is null if no offer charges for the
 * funding, or if there is no estimate.
 */
export type MatchEnrichment = { FindSeller: { readonly candidates: readonly Candidate[]; readonly fundingFees: FundingFeesData } }
export type EnrichedMatchCommand = EnrichedCommand<MatchCommand, MatchEnrichment>
type CommandOf<Type extends EnrichedMatchCommand['type']> = Extract<EnrichedMatchCommand, { readonly type: Type }>
type MatchDecision = Decision<MatchFact, Refusal>

const NO_SELLER_REASON = 'No seller can serve this order now.'

/**
 * A process or a reaction sends every command, and a fact records each failure. Only the use of a missing reservation is refused,
 * because the order repeats a refused command.
 */
function decide(match: Match, command: EnrichedMatchCommand): MatchDecision {
  switch (command.type) {
    case 'RecordSellerQuoted':
      return match.quotedCandidate
        ? accept()
        : accept({ type: 'SellerQuoted', v: 1, data: { candidate: command.data.candidate } })
    case 'FindSeller':
      return findSeller(match, command)
    case 'RecordReservation':
      return recordReservation(match, command)
    case 'RenewReservation':
      return renewReservation(matchAttemptOf(match, command.data.attempt), command)
    case 'ReleaseMatch':
      return releaseMatch(matchAttemptOf(match, command.data.attempt), command)
    case 'UseMatch': {
      const { attempt } = command.data
      const { status, candidates, round } = matchAttemptOf(match, attempt)
      const asked = reservationOf(candidates, round)
      // A released reservation counts too: the channel is valid, and the seller's score has to include the sale.
      const hasReservation = status === 'MATCHED' || status === 'RELEASED' || status === 'ASKING_AGAIN'
      if (status === 'USED') return accept()
      return hasReservation && asked
        ? accept({ type: 'MatchUsed', v: 1, data: { attempt, asked } })
        : refuse('NOT_RESERVED', `Attempt ${attempt} has no reservation`)
    }
    case 'RecordFunding': {
      const { attempt, seen } = command.data
      const { status, candidates, round, isFunded } = matchAttemptOf(match, attempt)
      const asked = reservationOf(candidates, round)
      if (status !== 'MATCHED' || !asked || seen === isFunded) return accept()
      return accept({ type: 'MatchFundingRecorded', v: 1, data: { attempt, asked, seen } })
    }
    case 'RecordAttemptOutcome':
      return recordAttemptOutcome(match, command)
  }
}

function findSeller(match: Match, { data }: CommandOf<'FindSeller'>): MatchDecision {
  const { attempt, need, autoAccepted, fundingFees } = data
  if (matchAttemptOf(match, attempt).status !== 'NONE') return accept()
  const candidates = [...data.candidates]
  const searchBegun: MatchFact = {
    type: 'SearchBegun',
    v: 2,
    data: { attempt, need, autoAccepted, candidates, fundingFees },
  }
  return candidates.length > 0
    ? accept(searchBegun)
    : accept<MatchFact>(searchBegun, { type: 'Unmatched', v: 1, data: { attempt, reason: NO_SELLER_REASON } })
}

function recordReservation(match: Match, { data }: CommandOf<'RecordReservation'>): MatchDecision {
  const { attempt, round, offerId, granted } = data
  const { status, candidates, round: asked, answeredRequest: requestNumber } = matchAttemptOf(match, attempt)
  const [candidate, ...others] = candidates
  // A late answer: it belongs to an earlier candidate or an earlier round.
  if (candidate?.offerId !== offerId || round !== asked) return accept()
  const reason = data.reason ?? NO_SELLER_REASON
  if (status === 'ASKING_AGAIN')
    return accept(
      granted
        ? { type: 'ReservationRenewed', v: 2, data: { attempt, requestNumber } }
        : { type: 'ReservationRenewalRefused', v: 1, data: { attempt, reason } },
    )
  if (status !== 'SEARCHING') return accept()
  if (granted) return accept({ type: 'Matched', v: 1, data: { attempt, candidate } })
  const candidateLost: MatchFact = { type: 'CandidateLost', v: 1, data: { attempt, offerId, reason } }
  return others.length > 0
    ? accept(candidateLost)
    : accept<MatchFact>(candidateLost, { type: 'Unmatched', v: 1, data: { attempt, reason: NO_SELLER_REASON } })
}

/**
 * `requestNumber` is the number of the last release request before this renewal; 0 from a version without numbers. If that
 * release arrives after the renewal, the release is void. If a later release was answered first, the renewal is void.
 */
function renewReservation(
  { status, candidates, round, answeredRequest }: MatchAttempt,
  { data }: CommandOf<'RenewReservation'>,
): MatchDecision {
  const { attempt, requestNumber } = data
  if (requestNumber !== 0 && requestNumber < answeredRequest) return accept()
  if (status === 'USED' || status === 'ASKING_AGAIN' || status === 'SEARCHING') return accept()
  // The reservation was never released, so the offer gets no request. The order still waits for an answer.
  if (status === 'MATCHED') return accept({ type: 'ReservationRenewed', v: 2, data: { attempt, requestNumber } })
  if (status === 'RELEASED' && candidates.length > 0)
    return accept({ type: 'ReservationRenewalRequested', v: 2, data: { attempt, round: round + 1, requestNumber } })
  return accept({ type: 'ReservationRenewalRefused', v: 1, data: { attempt, reason: 'No seller had this attempt.' } })
}

function releaseMatch(
  { status, candidates, round, answeredRequest }: MatchAttempt,
  { data }: CommandOf<'ReleaseMatch'>,
): MatchDecision {
  const { attempt, requestNumber, reason } = data
  if (status === 'USED' || requestNumber <= answeredRequest) return accept()
  // A search that was not found yet is released too, so that it reserves nothing later.
  const asked = status === 'RELEASED' ? null : reservationOf(candidates, round)
  return accept({ type: 'MatchReleased', v: 1, data: { attempt, requestNumber, asked, reason } })
}

function recordAttemptOutcome(match: Match, { data: { attempt, outcome } }: CommandOf<'RecordAttemptOutcome'>): MatchDecision {
  const hasBegun = Object.keys(match.attempts).length > 0
  // Before the payment only the seller of a manual order can fail; after it, a rejection means a lack of capacity.
  const isBeforeSearch = outcome === 'no-reaction' || outcome === 'rejected'
  if (isBeforeSearch === hasBegun) return accept()
  const number = attempt ?? 1
  const candidate = hasBegun ? matchAttemptOf(match, number).candidates[0] : match.quotedCandidate
  const isRegistered = match.outcomes.some((key) => key.startsWith(`${number}/`) && aspectOf(key) === aspectOf(`/${outcome}`))
  if (!candidate || isRegistered) return accept()
  return accept({
    type: 'AttemptOutcomeRecorded',
    v: 1,
    data: { attempt: number, sellerPubkey: candidate.sellerPubkey, outcome },
  })
}

/** An attempt has one outcome per aspect: for the opening, and after a valid opening for the lease and for the fees. */
function aspectOf(key: string): 'opening' | 'lease' | 'fees' {
  if (key.endsWith('/promise-broken')) return 'fees'
  return /\/(valid|lease-kept|closed-early)$/.test(key) ? 'lease' : 'opening'
}

const reservationOf = ([candidate]: readonly Candidate[], round: number) =>
  candidate ? { offerId: candidate.offerId, sellerPubkey: candidate.sellerPubkey, round } : null

export const matchDecider: Decider<Match, EnrichedMatchCommand, MatchFact> = { initial: noMatch, evolve: evolveMatch, decide }
