import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlement } from './settlement.ts'
import {
  cancelled,
  cancelRequested,
  E,
  EXPIRES,
  fact,
  HELD_AT,
  held,
  htlc,
  isHeld,
  issued,
  nodeView,
  NOW,
  proof,
  requested,
  settleAsked,
  settled,
  settleMissed,
  stateAfter,
  stranger,
  terms,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
  toSettling,
} from './samples.contract.ts'

const refusedStale = fact('HoldRefused', {
  code: 'stale-tip',
  reason: 'Our node has not seen a block for 9000 s; no payment is taken until it has caught up.',
})

describe('issuing', () => {
  const issue = (change: object) => ({ type: 'IssueHold', data: { ...terms, ...nodeView, ...change } }) as const
  test('the intent has the hash, and a second wish adds nothing', () => {
    given(settlement).when(issue({})).then(requested)
    given(settlement, requested).when(issue({})).then()
    given(settlement, ...toSettled)
      .when(issue({}))
      .then()
  })
  test('a stale tip stops new holds, unless that is off', () => {
    given(settlement)
      .when(issue({ tipAgeSeconds: 9000 }))
      .then(refusedStale)
    given(settlement)
      .when(issue({ synced: false, tipAgeSeconds: 9000 }))
      .then(refusedStale)
    expect(given(settlement).when(issue({ synced: false })).decision).toMatchObject({
      facts: [{ type: 'HoldRefused', data: { code: 'stale-tip' } }],
    })
    given(settlement)
      .when(issue({ tipAgeSeconds: 9000, staleTipSeconds: 0 }))
      .then(requested)
  })
  test('a node that lacks blocks stops them, whatever the age of its tip may be', () => {
    given(settlement)
      .when(issue({ synced: false, tipAgeSeconds: 9000, staleTipSeconds: 0 }))
      .then(refusedStale)
  })
  test('not more than our node can receive', () => {
    given(settlement)
      .when(issue({ inboundSat: 5000n }))
      .then(requested)
    const { decision } = given(settlement).when(issue({ inboundSat: 4999n }))
    expect(decision).toMatchObject({ facts: [{ type: 'HoldRefused', data: { code: 'no-inbound' } }] })
  })
  test('not at a node that gives payments back before our guard comes, or nobody knows when', () => {
    given(settlement)
      .when(issue({ holdExpiryDelta: 17 }))
      .then(requested)
    for (const holdExpiryDelta of [18, 24, 30, null])
      expect(given(settlement).when(issue({ holdExpiryDelta })).decision).toMatchObject({
        facts: [{ type: 'HoldRefused', data: { code: 'node-too-hasty' } }],
      })
  })
  test('a refused hold stays refused', () => {
    given(settlement, refusedStale).when(issue({})).then()
    given(settlement, refusedStale)
      .when({ type: 'CancelHold', data: { sentence: 'x' } })
      .then()
  })
  test('a buyer that nobody reaches is refused before there is an invoice', () => {
    const look = { attempt: 0, reached: false, reason: 'The node does not answer.', height: 800 }
    given(settlement, requested)
      .when({ type: 'RecordReach', data: look })
      .then(fact('HoldRefused', { code: 'unreachable', reason: look.reason }))
    given(settlement, requested)
      .when({ type: 'RecordReach', data: { ...look, reached: true } })
      .then()
    given(settlement, ...toOpen)
      .when({ type: 'RecordReach', data: look })
      .then()
  })
  test('the invoice is recorded once', () => {
    const record = { type: 'RecordIssued', data: { invoice: 'lnbcrt1', expiresAt: EXPIRES } } as const
    given(settlement, requested).when(record).then(issued)
    given(settlement, ...toOpen)
      .when(record)
      .then()
    given(settlement, ...toHeld)
      .when(record)
      .then()
    given(settlement).when(record).then()
    given(settlement, refusedStale).when(record).then()
  })
  test('an invoice that was made during or after the cancellation is noted', () => {
    const record = { type: 'RecordIssued', data: { invoice: 'lnbcrt1', expiresAt: EXPIRES } } as const
    given(settlement, requested, cancelRequested).when(record).then(issued)
    given(settlement, requested, cancelRequested, cancelled).when(record).then(issued)
    given(settlement, requested, cancelRequested, cancelled, issued)
      .when({ type: 'RecordCancelled', data: { at: NOW, unmade: false } })
      .then(cancelled)
  })
})

describe('holding', () => {
  const record = { type: 'RecordHeld', data: { ...held, crowdedPeer: null } } as const
  test('E is the lowest of the heights', () => {
    given(settlement, ...toOpen)
      .when(record)
      .then(isHeld)
    const htlcs = [htlc, { ...htlc, expiryHeight: 990 }, { ...htlc, expiryHeight: 1010 }]
    const { decision } = given(settlement, ...toOpen).when({ type: 'RecordHeld', data: { ...record.data, htlcs } })
    expect(decision).toMatchObject({ facts: [{ data: { expiryHeight: 990, heldAtHeight: HELD_AT } }] })
  })
  test('it is recorded once, and not before there is an invoice', () => {
    for (const history of [[], [requested], toHeld, toSettling, toSettled])
      given(settlement, ...history)
        .when(record)
        .then()
  })
  test('a late payment is noted while and after it is cancelled', () => {
    given(settlement, ...toOpen, cancelRequested)
      .when(record)
      .then(isHeld)
    given(settlement, ...toOpen, cancelRequested, cancelled)
      .when(record)
      .then(isHeld)
  })
  test('through a crowded peer it is given back', () => {
    const crowded = { type: 'RecordHeld', data: { ...held, crowdedPeer: stranger } } as const
    const { decision } = given(settlement, ...toOpen).when(crowded)
    expect(decision).toMatchObject({ facts: [{ type: 'CancelRequested', data: { reason: 'no-slot', verdict: null } }] })
    const noSlot = fact('CancelRequested', { reason: 'no-slot', verdict: null, sentence: 'x' })
    given(settlement, ...toOpen, noSlot)
      .when(crowded)
      .then()
  })
})

describe('reaching the buyer before an attempt', () => {
  const asked = fact('ReachAsked', { attempt: 1 })
  const look = { attempt: 1, reached: false, reason: 'gone', height: 860 }
  test('it is asked once an attempt, and answered once', () => {
    given(settlement, ...toHeld)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then(asked)
    given(settlement, ...toHeld, asked)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then()
    given(settlement, ...toHeld, asked)
      .when({ type: 'RecordReach', data: look })
      .then(fact('ReachChecked', look))
    given(settlement, ...toHeld, asked, fact('ReachChecked', look))
      .when({ type: 'RecordReach', data: look })
      .then()
    given(settlement, ...toHeld, asked, fact('ReachChecked', look))
      .when({ type: 'CheckReach', data: { attempt: 2 } })
      .then(fact('ReachAsked', { attempt: 2 }))
  })
  test('an older attempt is answered no more, and nothing once the hold ends', () => {
    given(settlement, ...toHeld, asked, fact('ReachAsked', { attempt: 2 }))
      .when({ type: 'RecordReach', data: look })
      .then()
    given(settlement, ...toHeld, asked, cancelRequested)
      .when({ type: 'RecordReach', data: look })
      .then()
    given(settlement, ...toHeld, cancelRequested)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then()
    given(settlement, ...toOpen)
      .when({ type: 'CheckReach', data: { attempt: 1 } })
      .then()
  })
})

describe('settling', () => {
  const record = (receivedMsat: string) => ({ type: 'RecordSettled', data: { settledAt: NOW, receivedMsat } }) as const
  test('the books are opened when the node shows the whole amount settled', () => {
    const { decision } = given(settlement, ...toSettling).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [settled, { type: 'LedgerPosted', data: { posting: 'settled' } }] })
    given(settlement, ...toSettling)
      .when(record('4999999'))
      .refuses('NOT_ALL_SETTLED')
  })
  test('once, and only when it was asked for', () => {
    for (const history of [[], toOpen, toNoted, toSettled, [...toHeld, cancelRequested]])
      given(settlement, ...history)
        .when(record('5000000'))
        .then()
  })
  test('too late: from twelve blocks before the end on it is missed, and an incident; once', () => {
    const missed = (height: number) => ({ type: 'RecordSettleMissed', data: { height } }) as const
    for (const height of [E - 12, E, E + 100])
      expect(given(settlement, ...toSettling).when(missed(height)).decision).toMatchObject({
        facts: [
          { type: 'SettleMissed', data: { height } },
          { type: 'IncidentNoted', data: { what: 'settle-missed', height } },
        ],
      })
    given(settlement, ...toSettling)
      .when(missed(E - 13))
      .then()
    for (const history of [[], toHeld, toNoted, [...toSettling, settleMissed], toSettled, [...toHeld, cancelRequested]])
      given(settlement, ...history)
        .when(missed(E))
        .then()
  })
  test('what was missed, and was taken by the node all the same, is settled', () => {
    const incident = fact('IncidentNoted', { what: 'settle-missed', height: E - 12 })
    const { decision } = given(settlement, ...toSettling, settleMissed, incident).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [settled, { type: 'LedgerPosted', data: { posting: 'settled' } }] })
    // Nothing speaks against its channel.
    expect(stateAfter(...toSettling, settleMissed, incident).payout.incidents).toEqual([])
  })
  test.each([
    ['probe' as const, 'Only a probe has proven the channel; the payout waits for its announcement.'],
    [null, 'Only the chain has proven the channel; the payout waits for its announcement.'],
  ])('a proof by %s alone withholds the payout', (peer, reason) => {
    const weak = fact('SettleRequested', { proof: { ...proof, peer, withheld: true }, lastHeight: false })
    const { decision } = given(settlement, ...toNoted, settleAsked, weak).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [{}, {}, { type: 'PayoutWithheld', data: { reason, untilHeight: 903 + 1008 } }] })
  })
})
