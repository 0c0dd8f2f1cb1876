import assert from 'node:assert/strict'
import { test } from 'vitest'
import { initial, type Settlement } from '../../state.ts'
import type { GuardSnapshot } from './guard-state.ts'
import { readGauges } from './gauges.ts'

const request = { guardBlocks: 24 } as NonNullable<Settlement['hold']['request']> // the gauges read no other field
const hold = (status: Settlement['hold']['status'], expiryHeight: number): Settlement => ({
  ...initial,
  hold: {
    ...initial.hold,
    status,
    request,
    payment: { expiryHeight, heldAtHeight: 100, receivedMsat: 5_000_000n, peers: [] },
  },
})
const owed = (settledAt: number, payout: Partial<Settlement['payout']>): Settlement => ({
  ...hold('settled', 300),
  hold: { ...hold('settled', 300).hold, settledAt },
  payout: { ...initial.payout, ...payout },
  balances: { payable: -4_000_000n },
})

function readFigures(states: readonly Settlement[], now = 100_000, snapshot: Partial<GuardSnapshot> = {}) {
  const orders = new Map(states.map((state, index) => [`${index}`, state]))
  const figures = readGauges({ orders, height: 200, unread: 0, at: 90_000, ...snapshot }, now)
  return (name: string, labels: Readonly<Record<string, string>> = {}) =>
    figures.find(
      (reading) =>
        'name' in reading.gauge && reading.gauge.name === name && JSON.stringify(reading.labels ?? {}) === JSON.stringify(labels),
    )?.value
}

test('the gauge of blocks left counts to the guard’s decision over the most urgent hold', () => {
  const figure = readFigures([hold('held', 244), hold('settling', 234), hold('open', 225)])
  assert.equal(figure('penstock_hold_blocks_left_min'), 10)
  assert.deepEqual(
    ['6', '24', '72', 'any'].map((most) => figure('penstock_holds_by_blocks_left', { at_most: most })),
    [0, 2, 2, 2],
  )
  assert.deepEqual([figure('penstock_held_sat'), figure('penstock_holds', { status: 'held' })], [10_000, 1])
  assert.equal(figure('penstock_guard_last_round_timestamp_seconds'), 90)
})

test('unread holds are counted, and the timestamp of the last round is missing before the first', () => {
  const figure = readFigures([hold('held', 244)], 100_000, { unread: 2, at: null })
  assert.equal(figure('penstock_holds_unread'), 2)
  assert.equal(figure('penstock_guard_last_round_timestamp_seconds'), undefined)
  assert.equal(readFigures([])('penstock_holds_unread'), 0)
})

test('orders whose payment is at another node are counted until they end', () => {
  const at = (node: string, status: Settlement['hold']['status']): Settlement => {
    const state = hold(status, 300)
    return { ...state, hold: { ...state.hold, request: { ...request, node } } }
  }
  const states = [at('ours', 'held'), at('theirs', 'held'), at('theirs', 'cancelled')]
  assert.equal(readFigures(states, 0, { node: 'ours' })('penstock_holds_elsewhere'), 1)
  assert.equal(readFigures(states)('penstock_holds_elsewhere'), 0)
})

test('an order at another node is counted only if it needs that node', () => {
  const theirs = (state: Settlement): Settlement => ({
    ...state,
    hold: { ...state.hold, request: { ...request, node: 'theirs' } },
  })
  const open = (expiresAt: number): Settlement => {
    const state = hold('open', 300)
    return { ...state, hold: { ...state.hold, invoice: { request: 'lnbc', expiresAt } } }
  }
  const sold = (payout: Partial<Settlement['payout']>): Settlement => {
    const state = owed(40_000, payout)
    const registered = { terms: { sellerPubkey: 'ada' } } as Settlement['hold']['registered'] // the gauges read no other field
    return { ...state, hold: { ...state.hold, registered } }
  }
  // One field is enough, because the gauges read only whether a payment is requested.
  const paying = { attempt: 1 } as Settlement['payout']['paying']
  const counted = (state: Settlement): unknown =>
    readFigures([theirs(state)], 100_000, { node: 'ours' })('penstock_holds_elsewhere')
  const cancelled = { ...hold('cancelled', 300), hold: { ...hold('cancelled', 300).hold, atNode: 'held' as const } }
  for (const needs of [
    open(100_001),
    hold('held', 300),
    hold('settling', 300),
    hold('cancelling', 300),
    cancelled,
    sold({ paying }),
    sold({ usable: { ada: 'hash' } }),
  ])
    assert.equal(counted(needs), 1, needs.hold.status)
  for (const ended of [
    hold('requested', 300),
    open(100_000),
    hold('cancelled', 300),
    sold({}),
    sold({ usable: { bob: 'hash' } }),
    { ...sold({ usable: { ada: 'hash' } }), balances: {} },
  ])
    assert.equal(counted(ended), 0, ended.hold.status)
})

test('the gauge of blocks left has no value if no payment is held', () => {
  assert.equal(readFigures([])('penstock_hold_blocks_left_min'), undefined)
  assert.equal(readFigures([])('penstock_holds_by_blocks_left', { at_most: 'any' }), 0)
})

test('payables are counted by the reason for their wait, with the age of the oldest', () => {
  const figure = readFigures([
    owed(40_000, {}),
    owed(30_000, { withheld: { 'peer-proof': { untilHeight: 1208 } } }),
    owed(30_000, { withheld: { 'peer-proof': { untilHeight: 1 } } }),
    owed(30_000, { creditor: 'buyer', released: true }),
    owed(20_000, { released: true }),
    owed(10_000, { released: true, retryAt: 200_000 }),
    owed(5000, { released: true, retryAt: 200_000 }),
    owed(1000, { paid: { paymentHash: 'aa', feeMsat: 0n } }),
  ])
  assert.deepEqual(
    ['confirming', 'withheld', 'undecided', 'owed_to_buyer', 'without_invoice', 'paying', 'retrying'].map((state) => [
      figure('penstock_payables', { state }),
      figure('penstock_payable_oldest_seconds', { state }),
    ]),
    [
      [1, 60],
      [1, 70],
      [1, 70],
      [1, 70],
      [1, 80],
      [0, 0],
      [2, 95],
    ],
  )
  assert.equal(figure('penstock_payable_sat'), 28_000)
})
