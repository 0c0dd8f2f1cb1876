import { describe, expect, test } from 'vitest'
import { endAttempt, INTERRUPTED, judgeAnswer, postponeAttempt } from './outcome.ts'

const answered = (status: number, retryAfterSeconds: number | null = null) =>
  judgeAnswer({ kind: 'answered', status, retryAfterSeconds })
const waitsMs = [10_000, 60_000, 600_000, 600_000, 600_000, 600_000, 600_000]
const schedule = { now: 1000, waitsMs, createId: () => 'next' }
const attempt = (number: number, maxAttempts = 8) => ({ id: 'a', number, maxAttempts })

describe('an answer', () => {
  test.each([200, 201, 204, 299])('%i delivers', (status) => {
    expect(answered(status)).toMatchObject({ status: 'SUCCESS', httpStatus: status, error: null, isRepeated: false })
  })
  test.each([408, 429, 500, 502, 503, 599])('%i is repeated', (status) => {
    expect(answered(status)).toMatchObject({ status: 'FAILED', httpStatus: status, isRepeated: true, isGone: false })
  })
  test.each([301, 302, 307, 400, 401, 403, 404, 409, 422])('%i ends the delivery', (status) => {
    expect(answered(status)).toMatchObject({ status: 'FAILED', httpStatus: status, isRepeated: false, isGone: false })
  })
  test('410 is repeated, because the delivery waits until its endpoint is switched on again', () => {
    expect(answered(410)).toMatchObject({ status: 'FAILED', isRepeated: true, isGone: true })
  })
  test.each([0, 99, 600, 999])('with the invalid status %i is repeated, and has no status', (status) => {
    expect(answered(status)).toMatchObject({
      status: 'FAILED',
      httpStatus: null,
      error: `The endpoint answered with the invalid status ${status}.`,
      isRepeated: true,
      isGone: false,
    })
  })
  test('a failed call is repeated, and its reason is told in a sentence', () => {
    expect(judgeAnswer({ kind: 'failed', reason: 'the host refused the connection' })).toMatchObject({
      status: 'FAILED',
      httpStatus: null,
      error: 'The call failed: the host refused the connection.',
      isRepeated: true,
    })
  })
})

test('the failure of a call is a fault of the receiver, and neither a success nor an interruption is', () => {
  const endings = [answered(500), answered(404), judgeAnswer({ kind: 'failed', reason: 'no answer' }), answered(200), INTERRUPTED]
  const outcomes = endings.map((verdict) => endAttempt(attempt(1), verdict, schedule))
  expect(outcomes.map(({ isReceiversFault }) => isReceiversFault)).toEqual([true, true, true, false, false])
})

describe('the next attempt', () => {
  test('follows after 10 s, 60 s and then 10 min each, eight attempts in total', () => {
    const waits = Array.from({ length: 8 }, (_, i) => endAttempt(attempt(i + 1), answered(500), schedule).next)
    expect(waits.map((next) => next && next.at - 1000)).toEqual([...waitsMs, null])
  })
  test('has the same wait although redeliveries have raised its number', () => {
    expect(endAttempt(attempt(5, 11), answered(500), schedule).next?.at).toBe(61_000)
    expect(endAttempt(attempt(11, 11), answered(500), schedule).next).toBeNull()
  })
  test('is not made after a success, after a final answer, and for a delivery of one attempt', () => {
    expect(endAttempt(attempt(1), answered(200), schedule).next).toBeNull()
    expect(endAttempt(attempt(1), answered(403), schedule).next).toBeNull()
    expect(endAttempt(attempt(1, 1), answered(500), schedule).next).toBeNull()
    expect(endAttempt(attempt(3, 3), answered(500), schedule).next).toBeNull()
  })
  test('follows an attempt that the service did not end, because its request may not have arrived', () => {
    expect(endAttempt(attempt(1), INTERRUPTED, schedule)).toMatchObject({ status: 'FAILED', next: { at: 11_000 } })
  })
  test('waits as long as Retry-After requests, at most one hour, and never less than its own wait', () => {
    const waitOf = (seconds: number) => endAttempt(attempt(1), answered(429, seconds), schedule).next?.at
    expect(waitOf(30)).toBe(31_000)
    expect(waitOf(1)).toBe(11_000)
    expect(waitOf(86_400)).toBe(3_601_000)
  })
})

test('an attempt without a request is due again after ten seconds', () => {
  expect(postponeAttempt(attempt(3), 1000)).toMatchObject({ attemptId: 'a', status: 'POSTPONED', dueAt: 11_000 })
})
