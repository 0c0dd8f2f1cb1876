import assert from 'node:assert/strict'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { candidateOf, orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { channelTerms } from '../terms.ts'
import { reactionsToSettlement } from './settlement.ts'

const terms = channelTerms(orderTermsOf(), candidateOf(2), 100)
const orderId = '00000000-0000-4000-8000-0000000000aa'

/** What an order is told when settlement has recorded this. */
const told = (fact: SettlementFact) => {
  const meta = { id: 'e', category: 'settlement', aggregateId: orderId, revision: 0, position: 0n, at: 0, commandId: '' }
  return reactionsToSettlement
    .filter(({ type }) => type === fact.type)
    .flatMap(({ react }) => react({ ...meta, correlation: orderId, fact }))
    .map(({ id, command }) => [id, command.type, command.data])
}

test('an invoice that expires is told while it is still being cancelled, any other cancellation only when it is done', () => {
  const why = { verdict: null, sentence: 'The invoice was not paid in time.' }
  const requested = (reason: 'expired' | 'released') =>
    ({ type: 'CancelRequested', v: 1, data: { reason, ...why } }) satisfies SettlementFact
  assert.deepEqual(told(requested('expired')), [[orderId, 'RecordHoldExpiring', { reason: why.sentence }]])
  assert.deepEqual(told(requested('released')), [])
})

test("each look at the buyer's node answers the look that was asked for", () => {
  const checked = { reached: false, reason: 'silent', height: 100 }
  assert.deepEqual(told({ type: 'ReachChecked', v: 1, data: { attempt: 4, ...checked } }), [
    [orderId, 'RecordBuyerReach', { look: 4, ...checked }],
  ])
})

test('what was noted says which naming it was', () => {
  const noted = { attempt: 2, outpoint: `${'ab'.repeat(32)}:0`, sellerAmountMsat: '1', attestation: null, naming: 4, terms }
  const { attempt, outpoint, naming } = noted
  assert.deepEqual(told({ type: 'OutpointNoted', v: 2, data: noted }), [
    [orderId, 'RecordOutpointNoted', { attempt, outpoint, noted: true, attested: false, reason: null, tooLate: false, naming }],
  ])
})

test('a refused naming says whether it was for want of blocks', () => {
  const refusal = { attempt: 2, outpoint: `${'ab'.repeat(32)}:0`, reason: 'no' }
  for (const tooLate of [true, false])
    assert.deepEqual(told({ type: 'OutpointNoteRefused', v: 2, data: { ...refusal, tooLate } }), [
      [orderId, 'RecordOutpointNoted', { ...refusal, noted: false, attested: false, tooLate, naming: 0 }],
    ])
})
