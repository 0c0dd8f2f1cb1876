import type { Attempt, AttemptEnd, AttemptPostponement } from '@penstock/ports/deliveries.ts'
import type { WebhookAnswer } from '@penstock/ports/post-webhook.ts'

const GONE = 410
/**
 * Statuses after which the attempt is repeated, beside all from 500 on. The deliveries of a receiver that is gone wait until its
 * endpoint is switched on again.
 */
const REPEATED_STATUSES: readonly number[] = [408, GONE, 429]
const MAX_RETRY_AFTER_MS = 3_600_000
/** The pause after which the service tries again to make a request. */
const POSTPONE_MS = 10_000

/** The judgement of an answer. `isGone`: the receiver wants no more events. */
export type Verdict = Pick<AttemptEnd, 'status' | 'httpStatus' | 'error' | 'isReceiversFault'> & {
  readonly isRepeated: boolean
  readonly isGone: boolean
  readonly retryAfterMs: number
}

/** The verdict on an attempt whose process ended before its answer. */
export const INTERRUPTED: Verdict = {
  status: 'FAILED',
  httpStatus: null,
  error: 'The service stopped during the call.',
  isRepeated: true,
  isReceiversFault: false,
  isGone: false,
  retryAfterMs: 0,
}

/** Judges the answer to an attempt: only time-outs, network errors, invalid statuses, 408, 410, 429 and 5xx are repeated. */
export function judgeAnswer(answer: WebhookAnswer): Verdict {
  if (answer.kind === 'failed') {
    const error = `The call failed: ${answer.reason}.`
    return {
      status: 'FAILED',
      httpStatus: null,
      error,
      isRepeated: true,
      isReceiversFault: true,
      isGone: false,
      retryAfterMs: 0,
    }
  }
  const { status, retryAfterSeconds } = answer
  if (status >= 200 && status < 300)
    return {
      status: 'SUCCESS',
      httpStatus: status,
      error: null,
      isRepeated: false,
      isReceiversFault: false,
      isGone: false,
      retryAfterMs: 0,
    }
  // RFC 9110, section 15: a client handles an invalid status like a 5xx.
  const httpStatus = status >= 100 && status <= 599 ? status : null
  return {
    status: 'FAILED',
    httpStatus,
    error: `The endpoint answered with ${httpStatus === null ? 'the invalid ' : ''}status ${status}.`,
    isRepeated: httpStatus === null || httpStatus >= 500 || REPEATED_STATUSES.includes(httpStatus),
    isReceiversFault: true,
    isGone: httpStatus === GONE,
    retryAfterMs: Math.min((retryAfterSeconds ?? 0) * 1000, MAX_RETRY_AFTER_MS),
  }
}

export type Schedule = { readonly now: number; readonly waitsMs: readonly number[]; readonly createId: () => string }

/** Whether no attempt of the delivery follows. */
export const isLastAttempt = (
  { number, maxAttempts }: Pick<Attempt, 'number' | 'maxAttempts'>,
  { isRepeated }: Pick<Verdict, 'isRepeated'>,
): boolean => !isRepeated || number >= maxAttempts

/** Returns the end of an attempt, with the next attempt of its delivery if there is one. */
export function endAttempt(
  { id, number, maxAttempts }: Pick<Attempt, 'id' | 'number' | 'maxAttempts'>,
  { status, httpStatus, error, isRepeated, isReceiversFault, retryAfterMs }: Verdict,
  { now, waitsMs, createId }: Schedule,
): AttemptEnd {
  // The waits are counted from the last, because redeliveries meanwhile raise the numbers of a delivery's attempts.
  const waitMs = isLastAttempt({ number, maxAttempts }, { isRepeated }) ? undefined : waitsMs.at(number - maxAttempts)
  const next = waitMs !== undefined ? { attemptId: createId(), at: now + Math.max(waitMs, retryAfterMs) } : null
  return { attemptId: id, status, httpStatus, error, isReceiversFault, next }
}

/** Returns an attempt to the queue, because the service could not make its request. So the receiver loses no attempt. */
export const postponeAttempt = ({ id }: Pick<Attempt, 'id'>, now: number): AttemptPostponement => ({
  attemptId: id,
  status: 'POSTPONED',
  dueAt: now + POSTPONE_MS,
  error: 'The endpoint was changed or deleted during the attempt.',
})
