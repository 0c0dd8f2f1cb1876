import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlementDecider } from '../settlement.decide.ts'
import {
  holdCancelledFact,
  cancelRequestedFact,
  E,
  EXPIRES,
  settlementFact,
  HELD_AT,
  heldPayment,
  htlc,
  holdHeldFact,
  holdIssuedFact,
  sampleNodeView,
  NOW,
  proof,
  holdRequestedFact,
  settlementWantedFact,
  holdSettledFact,
  settlementMissedFact,
  stateAfter,
  stranger,
  sampleHoldTerms,
  heldHistory,
  registeredHistory,
  openHistory,
  settledHistory,
  settlingHistory,
} from '../samples.fixture.ts'

const refusedStale = settlementFact('HoldRefused', {
  code: 'stale-tip',
  reason: 'Our node has not seen a block for 9000 s; it accepts no payment until it is in sync.',
})

describe('issuing a hold', () => {
  const issue = (change: object) => ({ type: 'IssueHold', data: { ...sampleHoldTerms, ...sampleNodeView, ...change } }) as const
  test('records the intent with the payment hash, once', () => {
    given(settlementDecider).when(issue({})).then(holdRequestedFact)
    given(settlementDecider, holdRequestedFact).when(issue({})).then()
    given(settlementDecider, ...settledHistory)
      .when(issue({}))
      .then()
  })
  test('does not record the time that an earlier version sends', () => {
    given(settlementDecider)
      .when(issue({ invoiceBefore: NOW }))
      .then(holdRequestedFact)
  })
  test('is refused while the chain tip is stale, unless that limit is off', () => {
    given(settlementDecider)
      .when(issue({ tipAgeSeconds: 9000 }))
      .then(refusedStale)
    given(settlementDecider)
      .when(issue({ synced: false, tipAgeSeconds: 9000 }))
      .then(refusedStale)
    expect(given(settlementDecider).when(issue({ synced: false })).decision).toMatchObject({
      facts: [{ type: 'HoldRefused', data: { code: 'stale-tip' } }],
    })
    given(settlementDecider)
      .when(issue({ tipAgeSeconds: 9000, staleTipSeconds: 0 }))
      .then(holdRequestedFact)
  })
  test('is refused while the node lacks blocks, at any age of its tip', () => {
    given(settlementDecider)
      .when(issue({ synced: false, tipAgeSeconds: 9000, staleTipSeconds: 0 }))
      .then(refusedStale)
  })
  test('is refused for more than our node can receive', () => {
    given(settlementDecider)
      .when(issue({ inboundSat: 5000n }))
      .then(holdRequestedFact)
    const { decision } = given(settlementDecider).when(issue({ inboundSat: 4999n }))
    expect(decision).toMatchObject({ facts: [{ type: 'HoldRefused', data: { code: 'no-inbound' } }] })
  })
  test('is refused at a node whose hold-expiry delta is too large or unknown', () => {
    given(settlementDecider)
      .when(issue({ holdExpiryDelta: 17 }))
      .then(holdRequestedFact)
    for (const holdExpiryDelta of [18, 24, 30, null])
      expect(given(settlementDecider).when(issue({ holdExpiryDelta })).decision).toMatchObject({
        facts: [{ type: 'HoldRefused', data: { code: 'node-too-hasty' } }],
      })
  })
  test('stays refused', () => {
    given(settlementDecider, refusedStale).when(issue({})).then()
    given(settlementDecider, refusedStale)
      .when({ type: 'CancelHold', data: { sentence: 'x' } })
      .then()
  })
  test('is refused before the invoice if the buyer cannot be reached', () => {
    const outcome = { attempt: 0, reached: false, reason: 'The node does not answer.', height: 800 }
    given(settlementDecider, holdRequestedFact)
      .when({ type: 'RecordReach', data: outcome })
      .then(settlementFact('HoldRefused', { code: 'unreachable', reason: outcome.reason }))
    given(settlementDecider, holdRequestedFact)
      .when({ type: 'RecordReach', data: { ...outcome, reached: true } })
      .then()
    given(settlementDecider, ...openHistory)
      .when({ type: 'RecordReach', data: outcome })
      .then()
  })
  test('records the invoice once', () => {
    const record = { type: 'RecordIssued', data: { invoice: 'lnbcrt1', expiresAt: EXPIRES } } as const
    given(settlementDecider, holdRequestedFact).when(record).then(holdIssuedFact)
    given(settlementDecider, ...openHistory)
      .when(record)
      .then()
    given(settlementDecider, ...heldHistory)
      .when(record)
      .then()
    given(settlementDecider).when(record).then()
    given(settlementDecider, refusedStale).when(record).then()
  })
  test('records an invoice that the node created during or after the cancellation', () => {
    const record = { type: 'RecordIssued', data: { invoice: 'lnbcrt1', expiresAt: EXPIRES } } as const
    given(settlementDecider, holdRequestedFact, cancelRequestedFact).when(record).then(holdIssuedFact)
    given(settlementDecider, holdRequestedFact, cancelRequestedFact, holdCancelledFact).when(record).then(holdIssuedFact)
    given(settlementDecider, holdRequestedFact, cancelRequestedFact, holdCancelledFact, holdIssuedFact)
      .when({ type: 'RecordCancelled', data: { at: NOW, unmade: false } })
      .then(holdCancelledFact)
  })
})

describe('a held payment', () => {
  const record = { type: 'RecordHeld', data: { ...heldPayment, crowdedPeer: null } } as const
  test('has the lowest expiry height of its HTLCs as E', () => {
    given(settlementDecider, ...openHistory)
      .when(record)
      .then(holdHeldFact)
    const htlcs = [htlc, { ...htlc, expiryHeight: 990 }, { ...htlc, expiryHeight: 1010 }]
    const { decision } = given(settlementDecider, ...openHistory).when({ type: 'RecordHeld', data: { ...record.data, htlcs } })
    expect(decision).toMatchObject({ facts: [{ data: { expiryHeight: 990, heldAtHeight: HELD_AT } }] })
  })
  test('is recorded once, and only after the invoice', () => {
    for (const history of [[], [holdRequestedFact], heldHistory, settlingHistory, settledHistory])
      given(settlementDecider, ...history)
        .when(record)
        .then()
  })
  test('is recorded even if it arrives during or after the cancellation', () => {
    given(settlementDecider, ...openHistory, cancelRequestedFact)
      .when(record)
      .then(holdHeldFact)
    given(settlementDecider, ...openHistory, cancelRequestedFact, holdCancelledFact)
      .when(record)
      .then(holdHeldFact)
  })
  test('is cancelled if its peer has too many open payments', () => {
    const crowded = { type: 'RecordHeld', data: { ...heldPayment, crowdedPeer: stranger } } as const
    const { decision } = given(settlementDecider, ...openHistory).when(crowded)
    expect(decision).toMatchObject({ facts: [{ type: 'CancelRequested', data: { reason: 'no-slot', verdict: null } }] })
    const noSlot = settlementFact('CancelRequested', { reason: 'no-slot', verdict: null, sentence: 'x' })
    given(settlementDecider, ...openHistory, noSlot)
      .when(crowded)
      .then()
  })
})

describe('a check whether the buyer can be reached', () => {
  const reachRequested = settlementFact('BuyerReachRequested', { attempt: 1 })
  const outcome = { attempt: 1, reached: false, reason: 'gone', height: 860 }
  test('is requested once per attempt, and answered once', () => {
    given(settlementDecider, ...heldHistory)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then(reachRequested)
    given(settlementDecider, ...heldHistory, reachRequested)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then()
    given(settlementDecider, ...heldHistory, reachRequested)
      .when({ type: 'RecordReach', data: outcome })
      .then(settlementFact('BuyerReachChecked', outcome))
    given(settlementDecider, ...heldHistory, reachRequested, settlementFact('BuyerReachChecked', outcome))
      .when({ type: 'RecordReach', data: outcome })
      .then()
    given(settlementDecider, ...heldHistory, reachRequested, settlementFact('BuyerReachChecked', outcome))
      .when({ type: 'CheckReach', data: { attempt: 2 } })
      .then(settlementFact('BuyerReachRequested', { attempt: 2 }))
  })
  test('is not answered for an older attempt, nor after the hold ends', () => {
    given(settlementDecider, ...heldHistory, reachRequested, settlementFact('BuyerReachRequested', { attempt: 2 }))
      .when({ type: 'RecordReach', data: outcome })
      .then()
    given(settlementDecider, ...heldHistory, reachRequested, cancelRequestedFact)
      .when({ type: 'RecordReach', data: outcome })
      .then()
    given(settlementDecider, ...heldHistory, cancelRequestedFact)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then()
    given(settlementDecider, ...openHistory)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then()
  })
})

describe('a settlement', () => {
  const record = (receivedMsat: string) => ({ type: 'RecordSettled', data: { settledAt: NOW, receivedMsat } }) as const
  test('is posted to the ledger when the node shows the whole amount as settled', () => {
    const { decision } = given(settlementDecider, ...settlingHistory).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [holdSettledFact, { type: 'LedgerPosted', data: { posting: 'settled' } }] })
    given(settlementDecider, ...settlingHistory)
      .when(record('4999999'))
      .refuses('NOT_ALL_SETTLED')
  })
  test('is recorded once, and only after it was started', () => {
    for (const history of [[], openHistory, registeredHistory, settledHistory, [...heldHistory, cancelRequestedFact]])
      given(settlementDecider, ...history)
        .when(record('5000000'))
        .then()
  })
  test('is missed from E − 12 on, and recorded once as an incident', () => {
    const missed = (height: number) => ({ type: 'RecordSettlementMissed', data: { height } }) as const
    for (const height of [E - 12, E, E + 100])
      expect(given(settlementDecider, ...settlingHistory).when(missed(height)).decision).toMatchObject({
        facts: [
          { type: 'SettlementMissed', data: { height } },
          { type: 'IncidentRecorded', data: { what: 'settle-missed', height } },
        ],
      })
    given(settlementDecider, ...settlingHistory)
      .when(missed(E - 13))
      .then()
    for (const history of [
      [],
      heldHistory,
      registeredHistory,
      [...settlingHistory, settlementMissedFact],
      settledHistory,
      [...heldHistory, cancelRequestedFact],
    ])
      given(settlementDecider, ...history)
        .when(missed(E))
        .then()
  })
  test('is recorded although it was missed, if the node settled the payment nevertheless', () => {
    const incident = settlementFact('IncidentRecorded', { what: 'settle-missed', height: E - 12 })
    const { decision } = given(settlementDecider, ...settlingHistory, settlementMissedFact, incident).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [holdSettledFact, { type: 'LedgerPosted', data: { posting: 'settled' } }] })
    // A missed settlement is not an incident of its channel.
    expect(stateAfter(...settlingHistory, settlementMissedFact, incident).payout.incidents).toEqual([])
  })
  test.each([
    ['probe' as const, 'Only a probe has proven the channel; the payout waits for its announcement.'],
    [null, 'Only the chain has proven the channel; the payout waits for its announcement.'],
  ])('withholds the payout if the only peer proof is %s', (peer, reason) => {
    const weak = settlementFact('SettlementStarted', { proof: { ...proof, peer, withheld: true }, lastHeight: false })
    const { decision } = given(settlementDecider, ...registeredHistory, settlementWantedFact, weak).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [{}, {}, { type: 'PayoutWithheld', data: { reason, untilHeight: 903 + 1008 } }] })
  })
})
