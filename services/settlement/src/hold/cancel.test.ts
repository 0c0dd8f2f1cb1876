import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlementDecider } from '../settlement.decide.ts'
import {
  holdCancelledFact,
  cancelRequestedFact,
  EXPIRES,
  settlementFact,
  HASH,
  heldPayment,
  holdHeldFact,
  holdIssuedFact,
  node,
  NOW,
  releaseCause,
  holdRequestedFact,
  settlementWantedFact,
  settlementMissedFact,
  stranger,
  heldHistory,
  registeredHistory,
  openHistory,
  settledHistory,
  settlingHistory,
} from '../samples.fixture.ts'

describe('a cancellation', () => {
  const cancel = { type: 'CancelHold', data: { sentence: releaseCause.sentence } } as const
  test('is possible in every status before SettlementStarted', () => {
    for (const history of [
      [holdRequestedFact],
      openHistory,
      heldHistory,
      registeredHistory,
      [...registeredHistory, settlementWantedFact],
    ])
      given(settlementDecider, ...history)
        .when(cancel)
        .then(cancelRequestedFact)
    given(settlementDecider)
      .when(cancel)
      .then(settlementFact('HoldRefused', { code: 'withdrawn', reason: releaseCause.sentence }))
  })
  test('is refused after SettlementStarted, by one fact', () => {
    const no = settlementFact('CancelRefused', { reason: 'The hold is being settled and can no longer be cancelled.' })
    for (const history of [settlingHistory, settledHistory]) {
      given(settlementDecider, ...history)
        .when(cancel)
        .then(no)
      given(settlementDecider, ...history, no)
        .when(cancel)
        .then()
    }
  })
  test('adds no fact when it is requested again', () => {
    given(settlementDecider, ...heldHistory, cancelRequestedFact)
      .when(cancel)
      .then()
    given(settlementDecider, ...heldHistory, cancelRequestedFact, holdCancelledFact)
      .when(cancel)
      .then()
  })
  test('is not confirmed by a check that ran before the invoice existed', () => {
    const record = (unmade: boolean) => ({ type: 'RecordCancelled', data: { at: NOW, unmade } }) as const
    given(settlementDecider, holdRequestedFact, cancelRequestedFact).when(record(true)).then(holdCancelledFact)
    given(settlementDecider, holdRequestedFact, cancelRequestedFact, holdIssuedFact).when(record(true)).then()
    given(settlementDecider, holdRequestedFact, cancelRequestedFact, holdIssuedFact).when(record(false)).then(holdCancelledFact)
    // One replica reported its check, the node then created the invoice, and another replica reports an older check.
    given(settlementDecider, holdRequestedFact, cancelRequestedFact, holdCancelledFact, holdIssuedFact).when(record(true)).then()
  })
  test('is recorded once, when the node confirmed it', () => {
    const record = { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const
    given(settlementDecider, ...heldHistory, cancelRequestedFact)
      .when(record)
      .then(holdCancelledFact)
    for (const history of [
      [],
      openHistory,
      heldHistory,
      settlingHistory,
      settledHistory,
      [...heldHistory, cancelRequestedFact, holdCancelledFact],
    ])
      given(settlementDecider, ...history)
        .when(record)
        .then()
  })
})

describe('the expiry of an invoice', () => {
  const expire = (change: object = {}) =>
    ({ type: 'ExpireInvoice', data: { deadline: EXPIRES, paymentHash: HASH, held: null, node, ...change } }) as const
  test('cancels an unpaid invoice', () => {
    const { decision } = given(settlementDecider, ...openHistory).when(expire())
    expect(decision).toMatchObject({ facts: [{ type: 'CancelRequested', data: { reason: 'expired', verdict: null } }] })
  })
  test('records a payment that arrived just before the expiry', () =>
    given(settlementDecider, ...openHistory)
      .when(expire({ held: heldPayment }))
      .then(holdHeldFact))
  test('adds no fact if another node answered, because that node does not have the invoice', () =>
    given(settlementDecider, ...openHistory)
      .when(expire({ node: stranger }))
      .then())
  test('adds no fact for a stale deadline, or in another status', () => {
    given(settlementDecider, ...openHistory)
      .when(expire({ deadline: EXPIRES - 1 }))
      .then()
    for (const history of [[], [holdRequestedFact], heldHistory, settledHistory, [...openHistory, cancelRequestedFact]])
      given(settlementDecider, ...history)
        .when(expire())
        .then()
  })
})

describe('a cancellation by the node itself', () => {
  const own = (at: number) => ({ type: 'RecordNodeCancelled', data: { at, height: 985 } }) as const
  test('counts as an expiry near the end of an open invoice, and earlier as a cancellation by the node', () => {
    expect(given(settlementDecider, ...openHistory).when(own(EXPIRES - 59_000)).decision).toMatchObject({
      facts: [
        { type: 'CancelRequested', data: { reason: 'expired' } },
        { type: 'HoldCancelled', data: { reason: 'expired' } },
      ],
    })
    expect(given(settlementDecider, ...openHistory).when(own(NOW)).decision).toMatchObject({
      facts: [{ data: { reason: 'node' } }, { data: { reason: 'node' } }],
    })
  })
  test('has the verdict "unnamed" only if no outpoint was submitted', () => {
    expect(given(settlementDecider, ...heldHistory).when(own(NOW)).decision).toMatchObject({
      facts: [{ type: 'CancelRequested' }, { type: 'HoldCancelled', data: { reason: 'node', verdict: 'unnamed' } }],
    })
    expect(given(settlementDecider, ...registeredHistory).when(own(NOW)).decision).toMatchObject({
      // The order knows whether its funding was confirmed.
      facts: [{}, { type: 'LossSearchStarted', data: { cause: 'node-gave-back' } }, { data: { reason: 'node', verdict: null } }],
    })
  })
  test('is an incident while the hold is settling', () => {
    const { decision } = given(settlementDecider, ...settlingHistory).when(own(NOW))
    expect(decision).toMatchObject({
      facts: [
        { type: 'IncidentRecorded', data: { what: 'hold-lost-while-settling' } },
        { type: 'HoldCancelled' },
        { type: 'LossBorne', data: { cause: 'node-gave-back' } },
        { type: 'IncidentRecorded', data: { what: 'operator-loss' } },
        { type: 'LedgerPosted' },
        { type: 'PayoutWithheld', data: { cause: 'operator-loss' } },
      ],
    })
  })
  test('ends a missed settlement like our own cancellation, without another incident of the settlement', () => {
    const back = settlementFact('HoldCancelled', {
      at: NOW,
      reason: 'last-height',
      verdict: null,
      sentence: settlementMissedFact.data.sentence,
    })
    for (const record of [own(NOW), { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const])
      expect(given(settlementDecider, ...settlingHistory, settlementMissedFact).when(record).decision).toMatchObject({
        facts: [
          back,
          { type: 'LossBorne', data: { cause: 'not-taken-in-time', height: settlementMissedFact.data.height } },
          { type: 'IncidentRecorded' },
          { type: 'LedgerPosted' },
          { type: 'PayoutWithheld', data: { cause: 'operator-loss' } },
        ],
      })
  })
  test('confirms a requested cancellation', () =>
    given(settlementDecider, ...heldHistory, cancelRequestedFact)
      .when(own(NOW))
      .then(holdCancelledFact))
  test('adds no fact in any other status', () => {
    for (const history of [[], [holdRequestedFact], settledHistory, [...heldHistory, cancelRequestedFact, holdCancelledFact]])
      given(settlementDecider, ...history)
        .when(own(NOW))
        .then()
  })
})
