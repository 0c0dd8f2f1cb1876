import type { SendFact } from '@penstock/contracts/payments/send.ts'
import { deadline } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { enrichment, rate, sendRequest, START } from './samples.fixture.ts'
import { sendDecider } from './send.decide.ts'
import { sendProcess } from './send.process.ts'

const { invoice, ...request } = sendRequest
const { walletId } = request
const { paymentHash, expiresAt } = invoice
const [sendId, otherSendId] = [uuidFor(8), uuidFor(9)]
const outcomeAt = START + 1000
const requested = (more: object = {}): SendFact => ({
  type: 'SendRequested',
  v: 1,
  data: { ...request, rate, outcomeAt, ...more },
})
const resolved: SendFact = { type: 'InvoiceResolved', v: 1, data: invoice }
const claimed: SendFact = { type: 'HashClaimed', v: 1, data: {} }
const taken: SendFact = { type: 'HashTaken', v: 1, data: { ofSendId: otherSendId } }
const completed: SendFact = {
  type: 'SendCompleted',
  v: 1,
  data: { amount: '2500', amountMsat: '2500999', feeMsat: '0', settledAt: START + 1234, rate },
}
const failed: SendFact = { type: 'SendFailed', v: 1, data: { walletId, paymentHash, reason: 'sandbox' } }
const expiryReached: SendFact = { type: 'SendExpiryReached', v: 1, data: {} }
const expired: SendFact = { type: 'SendExpired', v: 1, data: { walletId, paymentHash } }

const requestSend = (more: object = {}) => ({ type: 'RequestSend', data: { ...sendRequest, ...enrichment, ...more } }) as const
const recordClaim = (granted: boolean) =>
  ({ type: 'RecordClaim', data: { granted, ofSendId: granted ? sendId : otherSendId } }) as const
const recordOutcome = (at = outcomeAt) => ({ type: 'RecordSandboxOutcome', data: { outcomeAt: at, rate } }) as const
const recordExpiry = (at = expiresAt) => ({ type: 'RecordExpiryReached', data: { expiresAt: at } }) as const

test('a request and its invoice are one append', () => {
  given(sendDecider).when(requestSend(), START).then(requested(), resolved)
})

test('a second request for a stream changes nothing, even with another input or for a deleted wallet', () => {
  given(sendDecider, requested(), resolved).when(requestSend()).then()
  given(sendDecider, requested(), resolved)
    .when(requestSend({ amount: '1' }))
    .then()
  given(sendDecider, requested(), resolved, taken)
    .when(requestSend({ isDeleted: true }))
    .then()
})

test('a request for a deleted wallet and a request for a live wallet are refused', () => {
  given(sendDecider)
    .when(requestSend({ isDeleted: true }))
    .refuses('NOT_FOUND')
  given(sendDecider)
    .when(requestSend({ environmentType: 'LIVE' }))
    .refuses('LIVE_NOT_SERVED')
})

test('the answer to the claim decides whether a send is pending or a duplicate', () => {
  const claiming = given(sendDecider, requested(), resolved)
  claiming.when(recordClaim(true)).then(claimed)
  claiming.when(recordClaim(false)).then(taken)
})

test('a repeated or late answer to the claim changes nothing', () => {
  given(sendDecider).when(recordClaim(true)).then()
  given(sendDecider, requested(), resolved, claimed).when(recordClaim(true)).then()
  given(sendDecider, requested(), resolved, claimed).when(recordClaim(false)).then()
  given(sendDecider, requested(), resolved, taken).when(recordClaim(true)).then()
  given(sendDecider, requested(), resolved, claimed, failed).when(recordClaim(true)).then()
})

test('an outcome or an expiry has no effect before the claim is granted', () => {
  const claiming = given(sendDecider, requested(), resolved)
  claiming.when(recordOutcome()).then()
  claiming.when(recordExpiry()).then()
  given(sendDecider, requested(), resolved, taken).when(recordOutcome()).then()
})

test('a send completes without a fee, and with the time of the command as its time of settlement', () => {
  given(sendDecider, requested(), resolved, claimed)
    .when(recordOutcome(), START + 1234)
    .then(completed)
})

test('a send fails if its caller asked for that, and names the payment hash that it gives back', () => {
  given(sendDecider, requested({ behavior: 'fail' }), resolved, claimed)
    .when(recordOutcome())
    .then(failed)
})

test('the end of the expiry and the expiration are one append', () => {
  given(sendDecider, requested({ outcomeAt: null }), resolved, claimed)
    .when(recordExpiry())
    .then(expiryReached, expired)
})

test('a command that names another deadline changes nothing', () => {
  given(sendDecider, requested(), resolved, claimed)
    .when(recordOutcome(outcomeAt + 1))
    .then()
  given(sendDecider, requested(), resolved, claimed).when(recordExpiry()).then()
  given(sendDecider, requested({ outcomeAt: null }), resolved, claimed)
    .when(recordExpiry(expiresAt + 1))
    .then()
})

test.each([
  ['COMPLETED', [claimed, completed]],
  ['FAILED', [claimed, failed]],
  ['EXPIRED', [claimed, expiryReached, expired]],
  ['DUPLICATE', [taken]],
] as const)('a send stays %s after a later outcome or expiry', (status, facts) => {
  const ended = given(sendDecider, requested(), resolved, ...facts)
  expect(ended.state.status).toBe(status)
  ended.when(recordOutcome()).then()
  ended.when(recordExpiry()).then()
})

test('a fact that cannot follow is a bug', () => {
  expect(() => given(sendDecider, claimed)).toThrow(Bug)
  expect(() => given(sendDecider, requested(), resolved, completed)).toThrow(Bug)
})

test('a send first claims the payment hash of its invoice, then waits for one deadline, and ends without a step', () => {
  const stepsAfter = (...facts: readonly SendFact[]) => sendProcess(given(sendDecider, ...facts).state, sendId)
  expect(stepsAfter(requested(), resolved)).toMatchObject([
    {
      kind: 'command',
      category: 'sendclaim',
      id: `${walletId}:${paymentHash}`,
      command: { type: 'ClaimHash', data: { sendId } },
    },
  ])
  expect(stepsAfter(requested(), resolved, claimed)).toEqual([
    deadline('end', { at: outcomeAt }, { type: 'RecordSandboxOutcome', data: { outcomeAt } }),
  ])
  expect(stepsAfter(requested({ outcomeAt: null }), resolved, claimed)).toEqual([
    deadline('end', { at: expiresAt }, recordExpiry()),
  ])
  for (const facts of [[taken], [claimed, completed], [claimed, failed], [claimed, expiryReached, expired]])
    expect(stepsAfter(requested(), resolved, ...facts)).toEqual([])
})
