import type { MatchCommand, MatchFact } from '@penstock/contracts/matching.ts'
import type { Candidate, FundingFeesData } from '@penstock/contracts/shapes.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import { type Attempt, attemptOf, evolveMatch, type Match, noMatch } from './match.ts'

/** What enrichment adds: whom to ask, best first, and what a funding costs now; null: nobody charges for it, or none can tell. */
export type MatchExtra = { FindSeller: { readonly candidates: readonly Candidate[]; readonly fundingFees: FundingFeesData } }
export type MatchDecides = Enriched<MatchCommand, MatchExtra>
type CommandOf<Type extends MatchDecides['type']> = Extract<MatchDecides, { readonly type: Type }>
type Decided = Decision<MatchFact, Refusal>

const NOBODY = 'No seller can serve this order now.'

/** Every command comes from a process or a reaction, so nothing is refused: what cannot be done is a fact. */
function decide(match: Match, command: MatchDecides): Decided {
  switch (command.type) {
    case 'NoteShown':
      return match.shown ? accept() : accept({ type: 'SellerShown', v: 1, data: { candidate: command.data.candidate } })
    case 'FindSeller':
      return find(match, command)
    case 'RecordReservation':
      return recordReservation(match, command)
    case 'Rereserve':
      return rereserve(attemptOf(match, command.data.attempt), command)
    case 'ReleaseMatch':
      return release(attemptOf(match, command.data.attempt), command)
    case 'UseMatch': {
      const { attempt } = command.data
      const { status, candidates, round } = attemptOf(match, attempt)
      const asked = askedOf(candidates, round)
      // Also where it was given back before: the channel is valid, and the seller's score is to have it.
      const isHad = status === 'MATCHED' || status === 'RELEASED' || status === 'ASKING_AGAIN'
      return isHad && asked ? accept({ type: 'MatchUsed', v: 1, data: { attempt, asked } }) : accept()
    }
    case 'NoteOutcome':
      return noteOutcome(match, command)
  }
}

function find(match: Match, { data }: CommandOf<'FindSeller'>): Decided {
  const { attempt, need, only, fundingFees } = data
  if (attemptOf(match, attempt).status !== 'NONE') return accept()
  const candidates = [...data.candidates]
  const begun: MatchFact = { type: 'SearchBegun', v: 2, data: { attempt, need, standing: !only, candidates, fundingFees } }
  return candidates.length > 0
    ? accept(begun)
    : accept<MatchFact>(begun, { type: 'Unmatched', v: 1, data: { attempt, reason: NOBODY } })
}

function recordReservation(match: Match, { data }: CommandOf<'RecordReservation'>): Decided {
  const { attempt, round, offerId, granted } = data
  const { status, candidates, round: asked, answered: question } = attemptOf(match, attempt)
  const [candidate, ...others] = candidates
  // An answer that nobody waits for: its reservation was released together with the question.
  if (candidate?.offerId !== offerId || round !== asked) return accept()
  const reason = data.reason ?? NOBODY
  if (status === 'ASKING_AGAIN')
    return accept(
      granted
        ? { type: 'Rereserved', v: 2, data: { attempt, question } }
        : { type: 'RereservationRefused', v: 1, data: { attempt, reason } },
    )
  if (status !== 'SEARCHING') return accept()
  if (granted) return accept({ type: 'Matched', v: 1, data: { attempt, candidate } })
  const lost: MatchFact = { type: 'CandidateLost', v: 1, data: { attempt, offerId, reason } }
  return others.length > 0
    ? accept(lost)
    : accept<MatchFact>(lost, { type: 'Unmatched', v: 1, data: { attempt, reason: NOBODY } })
}

/** `question`: the last release before it. One that comes later is over; where a later one was answered, this wish is. */
function rereserve({ status, candidates, round, answered }: Attempt, { data }: CommandOf<'Rereserve'>): Decided {
  const { attempt, question } = data
  if (question !== 0 && question < answered) return accept()
  if (status === 'USED' || status === 'ASKING_AGAIN' || status === 'SEARCHING') return accept()
  // What was never released need not be asked for, but whoever asks waits for an answer.
  if (status === 'MATCHED') return accept({ type: 'Rereserved', v: 2, data: { attempt, question } })
  if (status === 'RELEASED' && candidates.length > 0)
    return accept({ type: 'RereservationAsked', v: 2, data: { attempt, round: round + 1, question } })
  return accept({ type: 'RereservationRefused', v: 1, data: { attempt, reason: 'No seller had this attempt.' } })
}

function release({ status, candidates, round, answered }: Attempt, { data }: CommandOf<'ReleaseMatch'>): Decided {
  const { attempt, question, reason } = data
  if (status === 'USED' || question <= answered) return accept()
  // Whoever releases waits for the answer, also where there was nothing to give back.
  const asked = status === 'RELEASED' ? null : askedOf(candidates, round)
  return accept({ type: 'MatchReleased', v: 1, data: { attempt, question, asked, reason } })
}

function noteOutcome(match: Match, { data: { attempt, outcome } }: CommandOf<'NoteOutcome'>): Decided {
  const begun = Object.keys(match.attempts).length > 0
  // Before the payment only the seller who was asked by hand can fail; a rejection afterwards is a lack of capacity.
  const before = outcome === 'no-reaction' || outcome === 'rejected'
  if (before === begun) return accept()
  const number = attempt ?? 1
  const candidate = begun ? attemptOf(match, number).candidates[0] : match.shown
  const noted = match.outcomes.some((key) => key.startsWith(`${number}/`) && aspectOf(key) === aspectOf(`/${outcome}`))
  if (!candidate || noted) return accept()
  return accept({ type: 'OutcomeNoted', v: 1, data: { attempt: number, sellerPubkey: candidate.sellerPubkey, outcome } })
}

/** An attempt fails once, whatever follows from it; after a valid opening its lease and its fees count once each. */
function aspectOf(key: string): 'opening' | 'lease' | 'fees' {
  if (key.endsWith('/promise-broken')) return 'fees'
  return /\/(valid|lease-kept|closed-early)$/.test(key) ? 'lease' : 'opening'
}

const askedOf = ([candidate]: readonly Candidate[], round: number) =>
  candidate ? { offerId: candidate.offerId, sellerPubkey: candidate.sellerPubkey, round } : null

export const match: Decider<Match, MatchDecides, MatchFact> = { initial: noMatch, evolve: evolveMatch, decide }
