import type { MatchFact, OrderRequirements } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { matchMachine } from './match.machine.ts'

export type MatchAttemptStatus = 'NONE' | 'SEARCHING' | 'UNMATCHED' | 'MATCHED' | 'RELEASED' | 'ASKING_AGAIN' | 'USED'

export type MatchAttempt = {
  readonly status: MatchAttemptStatus
  /** Increases with each renewal of a released reservation. */
  readonly round: number
  /** Number of the last release request that was answered, or that a renewal has made void. */
  readonly answeredRequest: number
  readonly acceptsAutomatically: boolean
  readonly need: OrderRequirements | null
  /** The first candidate is requested or matched; the others follow if it refuses. */
  readonly candidates: readonly Candidate[]
  /** The network has the funding of the reserved channel. */
  readonly isFunded: boolean
}

export type Match = {
  readonly attempts: Readonly<Record<number, MatchAttempt>>
  readonly quotedCandidate: Candidate | null
  /** The recorded outcomes, each as `attempt/outcome`. */
  readonly outcomes: readonly string[]
}

export const matchAttemptLifecycle = compileLifecycle<MatchAttemptStatus, MatchFact['type']>(matchMachine)
export const noMatch: Match = { attempts: {}, quotedCandidate: null, outcomes: [] }
const noAttempt: MatchAttempt = {
  status: 'NONE',
  round: 0,
  answeredRequest: 0,
  acceptsAutomatically: true,
  need: null,
  candidates: [],
  isFunded: false,
}

export const matchAttemptOf = (match: Match, attempt: number): MatchAttempt => match.attempts[attempt] ?? noAttempt
/** The attempts of a match by number, in order. */
export const matchAttemptsOf = (match: Match): readonly (readonly [number, MatchAttempt])[] =>
  Object.entries(match.attempts).map(([attempt, state]) => [Number(attempt), state])

export function evolveMatch(match: Match, fact: MatchFact): Match {
  if (fact.type === 'SellerQuoted') return { ...match, quotedCandidate: fact.data.candidate }
  if (fact.type === 'AttemptOutcomeRecorded')
    return { ...match, outcomes: [...match.outcomes, `${fact.data.attempt}/${fact.data.outcome}`] }
  const { attempt } = fact.data
  const before = matchAttemptOf(match, attempt)
  const status = matchAttemptLifecycle.after(before.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${before.status} of attempt ${attempt}`)
  return { ...match, attempts: { ...match.attempts, [attempt]: { ...before, ...evolveAttempt(before, fact), status } } }
}

function evolveAttempt(attempt: MatchAttempt, fact: MatchFact): Partial<MatchAttempt> {
  switch (fact.type) {
    case 'SearchBegun':
      return { need: fact.data.need, acceptsAutomatically: fact.data.autoAccepted, candidates: fact.data.candidates }
    case 'CandidateLost':
      return { candidates: attempt.candidates.slice(1) }
    case 'ReservationRenewalRequested':
      return { round: fact.data.round, answeredRequest: Math.max(attempt.answeredRequest, fact.data.requestNumber) }
    case 'ReservationRenewed':
      return { answeredRequest: Math.max(attempt.answeredRequest, fact.data.requestNumber) }
    case 'MatchReleased':
      return { answeredRequest: fact.data.requestNumber, isFunded: false }
    case 'MatchFundingRecorded':
      return { isFunded: fact.data.seen }
    default:
      return {}
  }
}
