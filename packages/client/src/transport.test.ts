import { expect, test } from 'vitest'
import { answerWith } from './client.fixture.ts'
import { isPenstockError, PenstockError } from './errors.ts'
import { createTransport, type FetchFunction } from './transport.ts'

const URL = 'https://penstock.example/graphql'
const send = (fetch: FetchFunction) => createTransport(URL, {}, fetch)('{}', new AbortController().signal)

test('an error of the answer keeps its code, message, path and data', async () => {
  const errors = [
    { message: 'Wallet not found', path: ['payment', 'wallet'], extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } },
    { message: 'refused', extensions: { code: 'FORBIDDEN' } },
  ]
  const error: unknown = await send(async () => answerWith({ data: { payment: null }, errors })).catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(PenstockError)
  expect(error).toMatchObject({
    name: 'PenstockError',
    code: 'GRAPHQL_VALIDATION_FAILED',
    message: 'Wallet not found',
    status: 200,
    errors,
    data: { payment: null },
  })
})

test.each([
  [answerWith({ errors: [{ message: 'x' }] }), 'INTERNAL_SERVER_ERROR', undefined],
  [answerWith({ errors: [{ message: 'x', extensions: { code: 'NEW_CODE' } }] }), 'INTERNAL_SERVER_ERROR', undefined],
  [answerWith({ errors: [{ message: 'x' }] }, 429, { 'retry-after': '12' }), 'RATE_LIMITED', 12],
  [answerWith('slow down', 429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }), 'RATE_LIMITED', undefined],
  [answerWith({ data: null }), 'INVALID_RESPONSE', undefined],
  [answerWith('null'), 'INVALID_RESPONSE', undefined],
  [answerWith('Bad Gateway', 502), 'INTERNAL_SERVER_ERROR', undefined],
])('answer %# is an error with its code', async (answer, code, retryAfterSeconds) => {
  await expect(send(async () => answer)).rejects.toMatchObject({ code, retryAfterSeconds })
})

test('a redirect is not followed, because it could take the credential to another host', async () => {
  const redirects: string[] = []
  const fetch: FetchFunction = async (_, { redirect }) => {
    redirects.push(redirect)
    return answerWith('', 302, { location: 'https://other.example' })
  }
  await expect(send(fetch)).rejects.toMatchObject({ code: 'INVALID_RESPONSE', status: 302 })
  expect(redirects).toEqual(['manual'])
})

test('a connection that is lost within the body is a network error with its cause', async () => {
  const cause = new TypeError('terminated')
  const response = { ...answerWith(''), text: () => Promise.reject(cause) }
  await expect(send(async () => response)).rejects.toMatchObject({ code: 'NETWORK_ERROR', cause })
})

test('an error of another copy of this package is recognised', () => {
  const foreign = Object.assign(new Error('x'), { name: 'PenstockError', code: 'TIMEOUT' })
  expect(isPenstockError(foreign)).toBe(true)
  expect(isPenstockError(foreign, 'TIMEOUT')).toBe(true)
  expect(isPenstockError(foreign, 'FORBIDDEN')).toBe(false)
  expect(isPenstockError(new Error('x'))).toBe(false)
})
