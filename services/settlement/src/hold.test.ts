import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlement } from './settlement.ts'
import {
  attestation,
  cancelled,
  cancelRequested,
  E,
  EXPIRES,
  fact,
  HASH,
  HELD_AT,
  held,
  htlc,
  isHeld,
  isNoted,
  issued,
  nodeView,
  NOW,
  noted,
  OUTPOINT,
  proof,
  released,
  requested,
  settleAsked,
  settled,
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
      .when(issue({ tipAgeSeconds: 9000, synced: false, staleTipSeconds: 0 }))
      .then(requested)
  })
  test('not more than our node can receive', () => {
    given(settlement)
      .when(issue({ inboundSat: 5000n }))
      .then(requested)
    const { decision } = given(settlement).when(issue({ inboundSat: 4999n }))
    expect(decision).toMatchObject({ facts: [{ type: 'HoldRefused', data: { code: 'no-inbound' } }] })
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
      .when({ type: 'RecordCancelled', data: { at: NOW } })
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
  test('it has happened when the node confirmed it', () => {
    const record = { type: 'RecordCancelled', data: { at: NOW } } as const
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
    ({ type: 'ExpireInvoice', data: { deadline: EXPIRES, paymentHash: HASH, held: null, ...change } }) as const
  test('an unpaid invoice ends', () => {
    const { decision } = given(settlement, ...toOpen).when(expire())
    expect(decision).toMatchObject({ facts: [{ type: 'CancelRequested', data: { reason: 'expired', verdict: null } }] })
  })
  test('a payment of the last moment counts', () =>
    given(settlement, ...toOpen)
      .when(expire({ held }))
      .then(isHeld))
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
      facts: [{}, { data: { reason: 'node', verdict: 'unproven' } }],
    })
  })
  test('while settling it is an incident', () => {
    const { decision } = given(settlement, ...toSettling).when(own(NOW))
    expect(decision).toMatchObject({
      facts: [{ type: 'IncidentNoted', data: { what: 'hold-lost-while-settling' } }, { type: 'HoldCancelled' }],
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
  test.each([
    ['probe' as const, 'Only a probe has proven the channel; the payout waits for its announcement.'],
    [null, 'Only the chain has proven the channel; the payout waits for its announcement.'],
  ])('a proof by %s alone withholds the payout', (peer, reason) => {
    const weak = fact('SettleRequested', { proof: { ...proof, peer, withheld: true }, lastHeight: false })
    const { decision } = given(settlement, ...toNoted, settleAsked, weak).when(record('5000000'))
    expect(decision).toMatchObject({ facts: [{}, {}, { type: 'PayoutWithheld', data: { reason, untilHeight: 903 + 1008 } }] })
  })
})

describe('noting an outpoint', () => {
  const note = (height: number, change: object = {}) => ({ type: 'NoteOutpoint', data: { ...noted, height, ...change } }) as const
  /** E − 30 − 6 blocks to confirm − 6 confirmations. */
  const last = E - 42
  test('up to the last height at which a broadcast can still be proven', () => {
    given(settlement, ...toHeld)
      .when(note(last))
      .then(isNoted)
    expect(given(settlement, ...toHeld).when(note(last + 1)).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { attempt: 1, outpoint: OUTPOINT } }],
    })
    const deep = { ...noted.terms, requiredConfirmations: 10 }
    expect(given(settlement, ...toHeld).when(note(last, { terms: deep })).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused' }],
    })
    given(settlement, ...toHeld)
      .when(note(last - 4, { terms: deep }))
      .then(fact('OutpointNoted', { ...noted, terms: deep }))
  })
  test('a refusal is answered once, and a redelivery does not succeed tomorrow', () => {
    const no = fact('OutpointNoteRefused', { attempt: 1, outpoint: OUTPOINT, reason: 'x' })
    given(settlement, ...toHeld, no)
      .when(note(HELD_AT))
      .then()
    given(settlement, no, ...toHeld)
      .when(note(HELD_AT))
      .then()
    given(settlement, ...toHeld, no)
      .when(note(HELD_AT, { attempt: 2 }))
      .then(fact('OutpointNoted', { ...noted, attempt: 2 }))
  })
  test('only while a payment is held', () => {
    for (const history of [[], [requested], toOpen, [...toHeld, cancelRequested], [...toHeld, cancelRequested, cancelled]])
      expect(given(settlement, ...history).when(note(HELD_AT)).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused' }],
      })
    for (const history of [toSettling, toSettled])
      expect(given(settlement, ...history).when(note(HELD_AT, { outpoint: `${'00'.repeat(32)}:0` })).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused' }],
      })
  })
  test('a seller never gets more than the buyer paid', () => {
    given(settlement, ...toHeld)
      .when(note(HELD_AT, { sellerAmountMsat: '4100000' }))
      .then(fact('OutpointNoted', { ...noted, sellerAmountMsat: '4100000' }))
    expect(given(settlement, ...toHeld).when(note(HELD_AT, { sellerAmountMsat: '4100001' })).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused' }],
    })
  })
  test('another outpoint takes its place, the same one brings only an attestation', () => {
    const other = `${'00'.repeat(32)}:7`
    given(settlement, ...toNoted)
      .when(note(HELD_AT, { outpoint: other }))
      .then(fact('OutpointNoted', { ...noted, outpoint: other }))
    given(settlement, ...toNoted)
      .when(note(HELD_AT))
      .then()
    for (const history of [toNoted, toSettling, toSettled]) {
      given(settlement, ...history)
        .when(note(E, { attestation, sellerAmountMsat: '1' }))
        .then(fact('OutpointNoted', { ...noted, attestation }))
      given(settlement, ...history, fact('OutpointNoted', { ...noted, attestation }))
        .when(note(E, { attestation }))
        .then()
      given(settlement, ...history, fact('OutpointNoted', { ...noted, attestation }))
        .when(note(E))
        .then()
    }
  })
})

test('the wish to settle is kept once per outpoint, while the payment is held', () => {
  const settle = { type: 'SettleHold', data: { outpoint: OUTPOINT } } as const
  given(settlement, ...toNoted)
    .when(settle)
    .then(settleAsked)
  given(settlement, ...toNoted, settleAsked)
    .when(settle)
    .then()
  for (const history of [[], toOpen, toSettling, toSettled, [...toHeld, cancelRequested]])
    given(settlement, ...history)
      .when(settle)
      .then()
})

test('the timer of the last height asks for a proof once', () => {
  const last = { type: 'LastHeight', data: { height: E - 24 } } as const
  const reached = fact('LastHeightReached', { height: E - 24 })
  given(settlement, ...toHeld)
    .when(last)
    .then(reached)
  given(settlement, ...toHeld, reached)
    .when(last)
    .then()
  given(settlement, ...toHeld)
    .when({ type: 'LastHeight', data: { height: E - 25 } })
    .then()
  for (const history of [toOpen, toSettling, [...toHeld, cancelRequested]])
    given(settlement, ...history)
      .when(last)
      .then()
})
