import assert from 'node:assert/strict'
import { test } from 'vitest'
import {
  isFailureFact,
  isFailure,
  isOpenStatus,
  isPublishedStatus,
  isSale,
  orderStatuses,
  orderStatusRules,
  phaseOf,
  evolveOrderStatus,
} from './lifecycle.ts'

test('a fact type never changes an order to more than one new status', () => {
  const targets = new Map<string, Set<string>>()
  for (const [from, { on }] of Object.entries(orderStatusRules))
    for (const [type, to] of Object.entries(on)) if (to !== from) targets.set(type, (targets.get(type) ?? new Set()).add(to))
  assert.deepEqual(
    [...targets].filter(([, to]) => to.size > 1),
    [],
  )
  assert.ok(targets.size > 10)
})

test('a final order is sold or failed, and no fact makes it open again', () => {
  for (const status of orderStatuses) {
    assert.equal(isOpenStatus(status), !isSale(status) && !isFailure(status), status)
    if (isOpenStatus(status)) continue
    for (const to of Object.values(orderStatusRules[status].on)) assert.ok(!isOpenStatus(to), `${status} -> ${to}`)
  }
})

test('a failed order keeps its status, and only a failed order has the LSPS1 state FAILED', () => {
  for (const [status, { phase, lsps1, on }] of Object.entries(orderStatusRules)) {
    assert.equal(lsps1 === 'FAILED', phase === 'failed', status)
    if (phase === 'failed') assert.deepEqual(new Set(Object.values(on)), new Set([status]))
  }
})

test('isFailureFact is true for exactly the facts that lead to a failure status', () => {
  const endings = Object.values(orderStatusRules).flatMap(({ phase, on }) => (phase === 'failed' ? [] : Object.entries(on)))
  for (const [type, to] of endings) assert.equal(isFailureFact(type as Parameters<typeof isFailureFact>[0]), isFailure(to), type)
})

test('a status of a newer release has no phase, and is neither open nor final', () => {
  assert.deepEqual(
    [phaseOf('NEW'), isOpenStatus('NEW'), isSale('NEW'), isFailure('NEW'), isPublishedStatus('NEW')],
    [undefined, false, false, false, false],
  )
})

test('a view that missed facts gets the status from the facts that it receives', () => {
  assert.equal(evolveOrderStatus(undefined, 'OrderPlaced'), 'WAITING_FOR_SELLER_APPROVAL')
  assert.equal(evolveOrderStatus('WAITING_FOR_BUYER_PAYMENT', 'FundingSeenRecorded'), 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  assert.equal(evolveOrderStatus('SELLER_OPENED_CHANNEL', 'FundingConfirmedRecorded'), 'SELLER_OPENED_CHANNEL')
  assert.equal(evolveOrderStatus('VALID_CHANNEL_OPENING', 'PaymentHeld'), 'VALID_CHANNEL_OPENING')
})
