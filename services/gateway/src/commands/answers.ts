import { invalid, unanswered } from '../errors.ts'
import type { Answer } from './commands.ts'

const LATE = 'The service did not answer in time. Look whether it was done before you try again.'

/** For callers who cannot go on without it. @throws the refusal as it was said, or that nobody answered */
export function accepted(answer: Answer): Extract<Answer, { outcome: 'accepted' }> {
  if (answer.outcome === 'refused') throw invalid(answer.message, { reason: answer.code })
  if (answer.outcome === 'unanswered') throw unanswered(LATE)
  return answer
}

/** @throws that nobody answered, where a wait came to nothing */
export function inTime<T>(found: T | undefined): T {
  if (found === undefined) throw unanswered(LATE)
  return found
}
