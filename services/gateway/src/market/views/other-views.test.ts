import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { OfferFact } from '@penstock/contracts/matching.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { createCandidate, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { evolveChannelView } from './channel-view.ts'
import { evolveHoldView } from './hold-view.ts'
import { computeAvailableSat, computeLockedSat, evolveOfferView } from './offer-view.ts'

const ID = '00000000-0000-4000-8000-0000000000aa'
const event = <F extends Fact>(type: F['type'], data: object, at = 1): Event<F> => ({
  id: ID,
  category: 'x',
  aggregateId: ID,
  revision: 0,
  position: 0n,
  at,
  commandId: ID,
  correlation: ID,
  fact: { type, v: 1, data } as unknown as F, // tests write facts that fit their contracts
})

describe('a hold', () => {
  const hold = (...facts: readonly [SettlementFact['type'], object][]) =>
    facts.reduce<ReturnType<typeof evolveHoldView> | undefined>(
      (view, [type, data]) => evolveHoldView(view, event<SettlementFact>(type, data, 7)),
      undefined,
    ) ?? assert.fail()
  const issued: [SettlementFact['type'], object][] = [
    ['HoldRequested', { paymentHash: 'a' }],
    ['HoldIssued', { invoice: 'lnbcrt1', expiresAt: 1 }],
  ]
  const held: [SettlementFact['type'], object][] = [...issued, ['HoldHeld', { expiryHeight: 300 }]]
  const settled: [SettlementFact['type'], object][] = [...held, ['SettlementStarted', {}], ['HoldSettled', { settledAt: 5 }]]

  test('is open, held, settling and settled, one after the other', () => {
    assert.deepEqual(
      [issued, held, held.concat([['SettlementStarted', {}]]), settled].map((facts) => hold(...facts).status),
      ['open', 'held', 'settling', 'settled'],
    )
    assert.deepEqual([hold(...held).expiryHeight, hold(...settled).settledAt], [300, 5])
  })
  test('is cancelling and then cancelled, with the reason and the time of the node', () => {
    const cancelling: typeof held = [...held, ['CancelRequested', { sentence: 'The seller gave up.' }]]
    assert.deepEqual([hold(...cancelling).status, hold(...cancelling).cancelledAt], ['cancelling', null])
    const view = hold(...cancelling, ['HoldCancelled', { at: 6, sentence: 'The seller gave up.' }])
    assert.deepEqual([view.status, view.reason, view.cancelledAt], ['cancelled', 'The seller gave up.', 6])
  })
  test('has the failure of its payout until a retry succeeds', () => {
    const payoutRequested: [SettlementFact['type'], object] = ['PayoutRequested', { attempt: 1, paymentHash: 'b' }]
    const view = hold(...settled, ['PayoutInvoiceSubmitted', { paymentHash: 'b', payee: 'node' }], payoutRequested, [
      'PayoutFailed',
      { status: 'NO_ROUTE', reason: 'no route', retryAt: 9 },
    ])
    assert.deepEqual(
      [view.payout?.state, view.payout?.failure, view.payout?.retryAt, view.payout?.payee],
      ['FAILED', 'NO_ROUTE', 9, 'node'],
    )
    const paid = [payoutRequested, ['PayoutSucceeded', { feeMsat: '12' }] as [SettlementFact['type'], object]].reduce(
      (before, [type, data]) => evolveHoldView(before, event<SettlementFact>(type, data)),
      view,
    )
    assert.deepEqual(
      [paid.payout?.state, paid.payout?.failure, paid.payout?.retryAt, paid.payout?.feeMsat],
      ['SUCCEEDED', null, null, '12'],
    )
  })
  test('has the postings of its ledger in order', () => {
    const entries = [
      { account: 'received', amountMsat: '5' },
      { account: 'payable', amountMsat: '-5' },
    ]
    assert.deepEqual(hold(...settled, ['LedgerPosted', { posting: 'settled', entries }]).ledger, [
      { posting: 'settled', at: 7, entries },
    ])
  })
})

test('another outpoint and a re-organisation reset the confirmations of a channel', () => {
  const facts: [ChannelFact['type'], object][] = [
    ['WatchStarted', { outpoint: createOutpoint(1), fromHeight: 10 }],
    ['FundingConfirmed', { outpoint: createOutpoint(1), height: 11, shortChannelId: '11x1x0' }],
    ['ConfirmationsSeen', { outpoint: createOutpoint(1), confirmations: 2, tipHeight: 12 }],
    ['FundingReorged', { outpoint: createOutpoint(1), tipHeight: 11 }],
    ['FundingConfirmed', { outpoint: createOutpoint(1), height: 13, shortChannelId: '13x1x0' }],
    ['ChannelProven', { outpoint: createOutpoint(1), peer: 'graph', tipHeight: 15 }],
    ['LeaseStarted', { outpoint: createOutpoint(1), endsAtHeight: 4333 }],
    ['LeaseEnded', { outpoint: createOutpoint(1), early: true, closedBy: 'seller', spentBy: null, tipHeight: 99 }],
  ]
  const views = facts.map((_, last) =>
    facts
      .slice(0, last + 1)
      .reduce<ReturnType<typeof evolveChannelView> | undefined>(
        (view, [type, data]) => evolveChannelView(view, event<ChannelFact>(type, data)),
        undefined,
      ),
  )
  assert.deepEqual(
    views.map((view) => [view?.confirmations, view?.channelId, view?.tipHeight]),
    [
      [0, null, 10],
      [1, '11x1x0', 10],
      [2, '11x1x0', 12],
      [0, null, 11],
      [1, '13x1x0', 11],
      [1, '13x1x0', 15],
      [1, '13x1x0', 15],
      [1, '13x1x0', 99],
    ],
  )
  assert.deepEqual(
    [views[7]?.proven, views[7]?.lease, views[7]?.leaseEndsAtHeight],
    ['graph', { early: true, closedBy: 'seller' }, 4333],
  )
  assert.equal(
    evolveChannelView(views[7], event<ChannelFact>('WatchStarted', { outpoint: createOutpoint(2), fromHeight: 20 }))
      .confirmations,
    0,
  )
})

test('an offer counts reserved, released and sold capacity', () => {
  const created = {
    accountId: ID,
    pubkey: 'node',
    totalSizeSat: '1000',
    minSizeSat: '1',
    maxSizeSat: '500',
    promises: createCandidate(1).promises,
    conditions: [],
    assetId: null,
    autoAccept: true,
  }
  const reservation = { orderId: ID, attempt: 1, round: 0, sizeSat: '400' }
  const steps: [OfferFact['type'], object, bigint, bigint, string][] = [
    ['OfferCreated', created, 0n, 1000n, 'ENABLED'],
    ['CapacityReserved', reservation, 400n, 600n, 'ENABLED'],
    ['ReservationReleased', { ...reservation, reason: 'x' }, 0n, 1000n, 'ENABLED'],
    ['CapacityReserved', reservation, 400n, 600n, 'ENABLED'],
    ['ReservationUsed', reservation, 400n, 600n, 'ENABLED'],
    ['ReservationRefused', { ...reservation, reason: 'x' }, 400n, 600n, 'ENABLED'],
    ['OfferDisabled', {}, 400n, 600n, 'DISABLED'],
    ['OfferDisabledByAdmin', { by: 'op', reason: 'x' }, 400n, 600n, 'ADMIN_DISABLED'],
    ['OfferEnabledByAdmin', { by: 'op', reason: 'x' }, 400n, 600n, 'ENABLED'],
    // Sold capacity does not change when the owner reduces the total size.
    ['OfferUpdated', { ...created, totalSizeSat: '300' }, 400n, 0n, 'ENABLED'],
  ]
  let view: ReturnType<typeof evolveOfferView> | undefined
  for (const [type, data, locked, available, status] of steps) {
    view = evolveOfferView(view, event<OfferFact>(type, data))
    assert.deepEqual([computeLockedSat(view), computeAvailableSat(view), view.status], [locked, available, status], type)
  }
})
