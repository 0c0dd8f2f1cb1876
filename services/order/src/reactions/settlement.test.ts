import assert from 'node:assert/strict'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { channelTermsOf } from '../terms.ts'
import { reactionsToSettlement } from './settlement.ts'

const terms = channelTermsOf(createOrderTerms(), createCandidate(2), 100)
const orderId = '00000000-0000-4000-8000-0000000000aa'

/** The commands that an order receives for a fact of settlement. */
const commandsOf = (fact: SettlementFact) => {
  const meta = { id: 'e', category: 'settlement', aggregateId: orderId, revision: 0, position: 0n, at: 0, commandId: '' }
  return reactionsToSettlement
    .filter(({ type }) => type === fact.type)
    .flatMap(({ react }) => react({ ...meta, correlation: orderId, fact }))
    .map(({ id, command }) => [id, command.type, command.data])
}

test('an expired invoice is reported when its cancellation is requested, any other cancellation when it is confirmed', () => {
  const why = { verdict: null, sentence: 'The invoice was not paid in time.' }
  const requested = (reason: 'expired' | 'released') =>
    ({ type: 'CancelRequested', v: 1, data: { reason, ...why } }) satisfies SettlementFact
  assert.deepEqual(commandsOf(requested('expired')), [[orderId, 'RecordHoldExpiring', { reason: why.sentence }]])
  assert.deepEqual(commandsOf(requested('released')), [])
})

test("each reach check of the buyer's node carries the number of its request", () => {
  const checked = { reached: false, reason: 'silent', height: 100 }
  assert.deepEqual(commandsOf({ type: 'BuyerReachChecked', v: 1, data: { attempt: 4, ...checked } }), [
    [orderId, 'RecordBuyerReach', { check: 4, ...checked }],
  ])
})

test('a registered outpoint carries the number of its submission', () => {
  const registered = {
    attempt: 2,
    outpoint: `${'ab'.repeat(32)}:0`,
    sellerAmountMsat: '1',
    attestation: null,
    outpointNumber: 4,
    terms,
  }
  const { attempt, outpoint, outpointNumber } = registered
  assert.deepEqual(commandsOf({ type: 'OutpointRegistered', v: 2, data: registered }), [
    [
      orderId,
      'RecordOutpointRegistered',
      { attempt, outpoint, registered: true, attested: false, reason: null, tooLate: false, outpointNumber },
    ],
  ])
})

test('a refused outpoint says whether too few blocks are left', () => {
  const refusal = { attempt: 2, outpoint: `${'ab'.repeat(32)}:0`, reason: 'no' }
  for (const tooLate of [true, false])
    assert.deepEqual(commandsOf({ type: 'OutpointRegistrationRefused', v: 2, data: { ...refusal, tooLate } }), [
      [orderId, 'RecordOutpointRegistered', { ...refusal, registered: false, attested: false, tooLate, outpointNumber: 0 }],
    ])
})
