import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import { deadline } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { receiveDecider } from './receive.decide.ts'
import { receiveProcess } from './receive.process.ts'
import { enrichment, rate, receiveRequest, START } from './samples.fixture.ts'

const { issuedAt, expiresAt, ...request } = receiveRequest
const outcomeAt = START + 1000
const requested = (more: object = {}): ReceiveFact => ({
  type: 'ReceiveRequested',
  v: 1,
  data: { ...request, rate, outcomeAt, ...more },
})
const issued: ReceiveFact = { type: 'InvoiceIssued', v: 1, data: { issuedAt, expiresAt } }
const completed: ReceiveFact = {
  type: 'ReceiveCompleted',
  v: 1,
  data: { amount: '2500', amountMsat: '2500000', settledAt: START + 1234, rate },
}
const failed: ReceiveFact = { type: 'ReceiveFailed', v: 1, data: { reason: 'sandbox' } }
const expiryReached: ReceiveFact = { type: 'ReceiveExpiryReached', v: 1, data: {} }
const expired: ReceiveFact = { type: 'ReceiveExpired', v: 1, data: {} }

const requestReceive = (more: object = {}) =>
  ({ type: 'RequestReceive', data: { ...receiveRequest, ...enrichment, ...more } }) as const
const recordOutcome = (at = outcomeAt) => ({ type: 'RecordSandboxOutcome', data: { outcomeAt: at, rate } }) as const
const recordExpiry = (at = expiresAt) => ({ type: 'RecordExpiryReached', data: { expiresAt: at } }) as const

test('a request and its invoice are one append', () => {
  given(receiveDecider).when(requestReceive(), START).then(requested(), issued)
})

test('a second request for a stream changes nothing, even with another input or for a deleted wallet', () => {
  given(receiveDecider, requested(), issued).when(requestReceive()).then()
  given(receiveDecider, requested(), issued)
    .when(requestReceive({ amount: '1', fingerprint: '9'.repeat(64) }))
    .then()
  given(receiveDecider, requested(), issued)
    .when(requestReceive({ isDeleted: true }))
    .then()
  given(receiveDecider, requested(), issued, completed).when(requestReceive()).then()
})

test('a request for a deleted wallet and a request for a live wallet are refused', () => {
  given(receiveDecider)
    .when(requestReceive({ isDeleted: true }))
    .refuses('NOT_FOUND')
  given(receiveDecider)
    .when(requestReceive({ environmentType: 'LIVE' }))
    .refuses('LIVE_NOT_SERVED')
})

test('a request without a fresh rate has no rate', () => {
  given(receiveDecider)
    .when(requestReceive({ rate: null }))
    .then(requested({ rate: null }), issued)
})

test('a receive completes with the time of the command as its time of settlement', () => {
  given(receiveDecider, requested(), issued)
    .when(recordOutcome(), START + 1234)
    .then(completed)
})

test('a receive fails if its caller asked for that', () => {
  given(receiveDecider, requested({ behavior: 'fail' }), issued)
    .when(recordOutcome())
    .then(failed)
})

test('the end of the expiry and the expiration are one append', () => {
  given(receiveDecider, requested({ behavior: 'expire', outcomeAt: null }), issued)
    .when(recordExpiry())
    .then(expiryReached, expired)
})

test('a command that names another deadline changes nothing', () => {
  given(receiveDecider, requested(), issued)
    .when(recordOutcome(outcomeAt - 1))
    .then()
  given(receiveDecider, requested(), issued).when(recordExpiry()).then()
  const expiring = given(receiveDecider, requested({ outcomeAt: null }), issued)
  expiring.when(recordExpiry(expiresAt - 1)).then()
  expiring.when(recordOutcome()).then()
})

test.each([expiresAt, expiresAt + 999])('an outcome that is due after the expiry comes at the expiry', (dueAt) => {
  const late = given(receiveDecider, requested({ outcomeAt: dueAt }), issued)
  late.when(recordExpiry()).then()
  late.when(recordOutcome(dueAt), START + 1234).then(completed)
  given(receiveDecider, requested({ behavior: 'fail', outcomeAt: dueAt }), issued)
    .when(recordOutcome(dueAt))
    .then(failed)
  expect(receiveProcess(late.state, uuidFor(1))).toEqual([
    deadline('end', { at: expiresAt }, { type: 'RecordSandboxOutcome', data: { outcomeAt: dueAt } }),
  ])
})

test('a stored receive that expired before its chosen outcome stays expired', () => {
  const ended = given(receiveDecider, requested({ outcomeAt: expiresAt }), issued, expiryReached, expired)
  expect(ended.state.status).toBe('EXPIRED')
  ended.when(recordOutcome(expiresAt)).then()
})

test.each([
  ['COMPLETED', [completed]],
  ['FAILED', [failed]],
  ['EXPIRED', [expiryReached, expired]],
] as const)('a receive stays %s after a later outcome or expiry', (status, facts) => {
  const ended = given(receiveDecider, requested(), issued, ...facts)
  expect(ended.state.status).toBe(status)
  ended.when(recordOutcome()).then()
  ended.when(recordExpiry()).then()
})

test('an outcome or an expiry before the request changes nothing', () => {
  given(receiveDecider).when(recordOutcome()).then()
  given(receiveDecider).when(recordExpiry()).then()
  given(receiveDecider, requested()).when(recordOutcome()).then()
})

test('a fact that cannot follow is a bug', () => {
  expect(() => given(receiveDecider, completed)).toThrow(Bug)
  expect(() => given(receiveDecider, requested(), issued, completed, expiryReached)).toThrow(Bug)
})

test('a pending receive has one deadline, and each other status has none', () => {
  const stepsAfter = (...facts: readonly ReceiveFact[]) => receiveProcess(given(receiveDecider, ...facts).state, uuidFor(1))
  expect(stepsAfter(requested(), issued)).toEqual([
    deadline('end', { at: outcomeAt }, { type: 'RecordSandboxOutcome', data: { outcomeAt } }),
  ])
  expect(stepsAfter(requested({ outcomeAt: null }), issued)).toEqual([deadline('end', { at: expiresAt }, recordExpiry())])
  for (const facts of [[completed], [failed], [expiryReached], [expiryReached, expired]])
    expect(stepsAfter(requested(), issued, ...facts)).toEqual([])
  expect(stepsAfter()).toEqual([])
})
