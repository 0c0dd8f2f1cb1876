import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlement } from './settlement.ts'
import {
  cancelled,
  cancelRequested,
  EXPIRES,
  fact,
  HASH,
  held,
  isHeld,
  issued,
  node,
  NOW,
  released,
  requested,
  settleAsked,
  settleMissed,
  stranger,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
  toSettling,
} from './samples.contract.ts'

describe('cancelling', () => {
  const cancel = { type: 'CancelHold', data: { sentence: released.sentence } } as const
  test('from everything before SettleRequested', () => {
    for (const history of [[requested], toOpen, toHeld, toNoted, [...toNoted, settleAsked]])
      given(settlement, ...history)
        .when(cancel)
        .then(cancelRequested)
    given(settlement)
      .when(cancel)
      .then(fact('HoldRefused', { code: 'withdrawn', reason: released.sentence }))
  })
  test('never afterwards: that is a fact, once', () => {
    const no = fact('CancelRefused', { reason: 'The hold is being settled; nothing can release it any more.' })
    for (const history of [toSettling, toSettled]) {
      given(settlement, ...history)
        .when(cancel)
        .then(no)
      given(settlement, ...history, no)
        .when(cancel)
        .then()
    }
  })
  test('a second wish adds nothing', () => {
    given(settlement, ...toHeld, cancelRequested)
      .when(cancel)
      .then()
    given(settlement, ...toHeld, cancelRequested, cancelled)
      .when(cancel)
      .then()
  })
  test('a look from before the invoice was made says nothing of it', () => {
    const record = (unmade: boolean) => ({ type: 'RecordCancelled', data: { at: NOW, unmade } }) as const
    given(settlement, requested, cancelRequested).when(record(true)).then(cancelled)
    given(settlement, requested, cancelRequested, issued).when(record(true)).then()
    given(settlement, requested, cancelRequested, issued).when(record(false)).then(cancelled)
    // The replica that looked first has told of it, then the invoice came, and another tells of its own look before.
    given(settlement, requested, cancelRequested, cancelled, issued).when(record(true)).then()
  })
  test('it has happened when the node confirmed it', () => {
    const record = { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const
    given(settlement, ...toHeld, cancelRequested)
      .when(record)
      .then(cancelled)
    for (const history of [[], toOpen, toHeld, toSettling, toSettled, [...toHeld, cancelRequested, cancelled]])
      given(settlement, ...history)
        .when(record)
        .then()
  })
})

describe('expiry', () => {
  const expire = (change: object = {}) =>
    ({ type: 'ExpireInvoice', data: { deadline: EXPIRES, paymentHash: HASH, held: null, node, ...change } }) as const
  test('an unpaid invoice ends', () => {
    const { decision } = given(settlement, ...toOpen).when(expire())
    expect(decision).toMatchObject({ facts: [{ type: 'CancelRequested', data: { reason: 'expired', verdict: null } }] })
  })
  test('a payment of the last moment counts', () =>
    given(settlement, ...toOpen)
      .when(expire({ held }))
      .then(isHeld))
  test('another node, which knows nothing of it, does not end it', () =>
    given(settlement, ...toOpen)
      .when(expire({ node: stranger }))
      .then())
  test('a stale deadline adds nothing', () => {
    given(settlement, ...toOpen)
      .when(expire({ deadline: EXPIRES - 1 }))
      .then()
    for (const history of [[], [requested], toHeld, toSettled, [...toOpen, cancelRequested]])
      given(settlement, ...history)
        .when(expire())
        .then()
  })
})

describe('the node gives back by itself', () => {
  const own = (at: number) => ({ type: 'RecordNodeCancelled', data: { at, height: 985 } }) as const
  test('an open invoice at its end has expired, before that the node ended it', () => {
    expect(given(settlement, ...toOpen).when(own(EXPIRES - 59_000)).decision).toMatchObject({
      facts: [
        { type: 'CancelRequested', data: { reason: 'expired' } },
        { type: 'HoldCancelled', data: { reason: 'expired' } },
      ],
    })
    expect(given(settlement, ...toOpen).when(own(NOW)).decision).toMatchObject({
      facts: [{ data: { reason: 'node' } }, { data: { reason: 'node' } }],
    })
  })
  test('a held payment: with what was there to judge', () => {
    expect(given(settlement, ...toHeld).when(own(NOW)).decision).toMatchObject({
      facts: [{ type: 'CancelRequested' }, { type: 'HoldCancelled', data: { reason: 'node', verdict: 'unnamed' } }],
    })
    expect(given(settlement, ...toNoted).when(own(NOW)).decision).toMatchObject({
      // The order knows how far its funding had come.
      facts: [{}, { type: 'LossAsked', data: { cause: 'node-gave-back' } }, { data: { reason: 'node', verdict: null } }],
    })
  })
  test('while settling it is an incident', () => {
    const { decision } = given(settlement, ...toSettling).when(own(NOW))
    expect(decision).toMatchObject({
      facts: [
        { type: 'IncidentNoted', data: { what: 'hold-lost-while-settling' } },
        { type: 'HoldCancelled' },
        { type: 'LossBorne', data: { cause: 'node-gave-back' } },
        { type: 'IncidentNoted', data: { what: 'operator-loss' } },
        { type: 'LedgerPosted' },
        { type: 'PayoutWithheld', data: { cause: 'operator-loss' } },
      ],
    })
  })
  test('once the settling was missed it goes back, by us or by the node, and the incident was noted before', () => {
    const back = fact('HoldCancelled', { at: NOW, reason: 'last-height', verdict: null, sentence: settleMissed.data.sentence })
    for (const record of [own(NOW), { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const])
      expect(given(settlement, ...toSettling, settleMissed).when(record).decision).toMatchObject({
        facts: [
          back,
          { type: 'LossBorne', data: { cause: 'not-taken-in-time', height: settleMissed.data.height } },
          { type: 'IncidentNoted' },
          { type: 'LedgerPosted' },
          { type: 'PayoutWithheld', data: { cause: 'operator-loss' } },
        ],
      })
  })
  test('while cancelling it is the confirmation', () =>
    given(settlement, ...toHeld, cancelRequested)
      .when(own(NOW))
      .then(cancelled))
  test('elsewhere it is no news', () => {
    for (const history of [[], [requested], toSettled, [...toHeld, cancelRequested, cancelled]])
      given(settlement, ...history)
        .when(own(NOW))
        .then()
  })
})
