import { expect, test } from 'vitest'
import type { Delay } from './attempts.ts'
import { createClientWithTiming } from './client.ts'
import { answerWith, ATTEMPT_TIMEOUT_MS, createFakeClient, refuseWith } from './client.fixture.ts'

const FOUND = answerWith({ data: { payment: { transaction: { find_one: { id: 't1' } } } } })
const IN_PROGRESS = 'A request with this idempotency_key is already in progress'

const UNAUTHENTICATED = {
  message: 'Unauthorized token',
  path: ['payment', 'transaction', 'find_one'],
  extensions: { code: 'UNAUTHENTICATED' },
}

const tooMany = (seconds: string) =>
  answerWith({ errors: [{ message: 'Too many requests', extensions: { code: 'FORBIDDEN' } }] }, 429, { 'retry-after': seconds })

test('a query is repeated with growing waits until its attempts are used up', async () => {
  const { client, requests, waits } = createFakeClient([], { maxRetries: 6 })
  await expect(client.payment.transaction.findOne({ id: 't1' })).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
  expect(requests).toHaveLength(7)
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000])
})

test.each([
  ['a lost connection', 'lost', 500],
  ['silence', 'silent', 500],
  ['status 503 without a body of this API', answerWith('upstream is down', 503), 500],
  ['status 503 with Retry-After', answerWith('not ready', 503, { 'retry-after': '7' }), 7000],
  ['an internal error', refuseWith('INTERNAL_SERVER_ERROR'), 500],
  ['a busy market', refuseWith('INTERNAL_SERVER_ERROR', 'busy', { retry_after: 3 }), 3000],
  ['a limit', tooMany('20'), 20_000],
  ['an earlier attempt that has not ended', refuseWith('GRAPHQL_VALIDATION_FAILED', IN_PROGRESS), 500],
] as const)('%s is followed by another attempt', async (_, answer, waitMs) => {
  const { client, waits } = createFakeClient([answer, FOUND])
  expect(await client.payment.transaction.findOne({ id: 't1' })).toEqual({ id: 't1' })
  expect(waits).toEqual([waitMs])
})

test.each([
  ['UNAUTHENTICATED', refuseWith('UNAUTHENTICATED')],
  ['UNAUTHENTICATED', answerWith({ data: { payment: { transaction: { find_one: null } } }, errors: [UNAUTHENTICATED] })],
  ['FORBIDDEN', refuseWith('FORBIDDEN')],
  ['GRAPHQL_VALIDATION_FAILED', refuseWith('GRAPHQL_VALIDATION_FAILED', 'Transaction not found')],
  ['INVALID_RESPONSE', answerWith('<html>', 200)],
  ['INVALID_RESPONSE', answerWith('', 301)],
  ['RATE_LIMITED', tooMany('61')],
] as const)('%s is final', async (code, answer) => {
  const { client, requests } = createFakeClient([answer, FOUND])
  await expect(client.payment.transaction.findOne({ id: 't1' })).rejects.toMatchObject({ code })
  expect(requests).toHaveLength(1)
})

test('a call can have its own number of attempts', async () => {
  const { client, requests } = createFakeClient([])
  await expect(client.payment.transaction.findOne({ id: 't1' }, { maxRetries: 0 })).rejects.toThrow('could not be reached')
  expect(requests).toHaveLength(1)
})

test('an attempt without an answer ends at its timeout', async () => {
  const { client } = createFakeClient(['silent'], { maxRetries: 0 })
  await expect(client.payment.transaction.findOne({ id: 't1' })).rejects.toMatchObject({
    code: 'TIMEOUT',
    message: `no whole answer came within ${ATTEMPT_TIMEOUT_MS} ms`,
  })
})

test.each([
  [2 ** 31 - 2, 2 ** 31 - 2],
  [2 ** 31, 2 ** 31 - 1],
  [Infinity, 2 ** 31 - 1],
])('a timeout of %d ms is a timer of %d ms', async (timeoutMs, timerMs) => {
  const timers: number[] = []
  const delay: Delay = async (ms) => {
    timers.push(ms)
    return new Promise(() => undefined)
  }
  const client = createClientWithTiming(
    { url: 'https://penstock.example', timeoutMs, fetch: async () => FOUND },
    { delay, random: () => 1 },
  )
  expect(await client.payment.transaction.findOne({ id: 't1' })).toEqual({ id: 't1' })
  expect(await client.payment.transaction.findOne({ id: 't1' }, { timeoutMs })).toEqual({ id: 't1' })
  expect(timers).toEqual([timerMs, timerMs])
})

test('a signal ends a running call with its reason', async () => {
  const controller = new AbortController()
  const { client, requests } = createFakeClient([], {
    fetch: async (_, { signal }) => {
      controller.abort(new Error('the customer left'))
      expect(signal.aborted).toBe(true)
      throw new TypeError('fetch failed')
    },
  })
  await expect(client.payment.transaction.findOne({ id: 't1' }, { signal: controller.signal })).rejects.toThrow(
    'the customer left',
  )
  await expect(client.payment.transaction.findOne({ id: 't1' }, { signal: controller.signal })).rejects.toThrow(
    'the customer left',
  )
  expect(requests).toHaveLength(0)
})
