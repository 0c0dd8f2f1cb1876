import type { MatchFact, Need } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { attemptMachine } from './match.machine.ts'

export type AttemptStatus = 'NONE' | 'SEARCHING' | 'UNMATCHED' | 'MATCHED' | 'RELEASED' | 'ASKING_AGAIN' | 'USED'

export type Attempt = {
  readonly status: AttemptStatus
  /** Grows each time that a released seller's capacity is asked for once more. */
  readonly round: number
  /** The last question to release it that was answered, or that is over since its capacity was asked for once more. */
  readonly answered: number
  readonly standing: boolean
  readonly need: Need | null
  /** The first one is asked, or matched; the others come after it. */
  readonly candidates: readonly Candidate[]
}

export type Match = {
  readonly attempts: Readonly<Record<number, Attempt>>
  readonly shown: Candidate | null
  /** `attempt/outcome`, as noted. */
  readonly outcomes: readonly string[]
}

export const attemptLifecycle = compile<AttemptStatus, MatchFact['type']>(attemptMachine)
export const noMatch: Match = { attempts: {}, shown: null, outcomes: [] }
const noAttempt: Attempt = { status: 'NONE', round: 0, answered: 0, standing: true, need: null, candidates: [] }

export const attemptOf = (match: Match, attempt: number): Attempt => match.attempts[attempt] ?? noAttempt
/** Its attempts by number, in order. */
export const attemptsOf = (match: Match): readonly (readonly [number, Attempt])[] =>
  Object.entries(match.attempts).map(([attempt, state]) => [Number(attempt), state])

export function evolveMatch(match: Match, fact: MatchFact): Match {
  if (fact.type === 'SellerShown') return { ...match, shown: fact.data.candidate }
  if (fact.type === 'OutcomeNoted')
    return { ...match, outcomes: [...match.outcomes, `${fact.data.attempt}/${fact.data.outcome}`] }
  const { attempt } = fact.data
  const before = attemptOf(match, attempt)
  const status = attemptLifecycle.after(before.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${before.status} of attempt ${attempt}`)
  return { ...match, attempts: { ...match.attempts, [attempt]: { ...before, ...changed(before, fact), status } } }
}

function changed(attempt: Attempt, fact: MatchFact): Partial<Attempt> {
  switch (fact.type) {
    case 'SearchBegun':
      return { need: fact.data.need, standing: fact.data.standing, candidates: fact.data.candidates }
    case 'CandidateLost':
      return { candidates: attempt.candidates.slice(1) }
    case 'RereservationAsked':
      return { round: fact.data.round, answered: Math.max(attempt.answered, fact.data.question) }
    case 'Rereserved':
      return { answered: Math.max(attempt.answered, fact.data.question) }
    case 'MatchReleased':
      return { answered: fact.data.question }
    default:
      return {}
  }
}
