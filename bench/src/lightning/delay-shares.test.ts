import type { Event } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import { computeShares } from './delay-shares.ts'

const CATEGORIES = [
  ['Hold', 'settlement'],
  ['Settle', 'settlement'],
  ['FundingConfirmed', 'channel'],
] as const

const createEvent = (aggregateId: string, type: string, at: number, data: object = {}) =>
  ({
    category: CATEGORIES.find(([start]) => type.startsWith(start))?.[1] ?? 'order',
    aggregateId,
    at,
    fact: { type, data },
  }) as Event // the fields that are read

const createSale = (id: string): Event[] => [
  createEvent(id, 'HoldHeld', 1100),
  createEvent(id, 'ChannelOpenRequested', 1110),
  createEvent(id, 'OutpointSubmitted', 3110),
  createEvent(id, 'OutpointAccepted', 3150),
  createEvent(id, 'FundingSeen', 4150),
  createEvent(id, 'FundingConfirmed', 5000, { shortChannelId: '4x1x0' }),
  createEvent(id, 'SettlementStarted', 10_100, { proof: { tipHeight: 7 } }),
  createEvent(id, 'HoldSettled', 10_200),
  createEvent(id, 'HoldSettled', 99_999),
]
/** The node held the payment 100 ms before the market recorded `HoldHeld`. */
const heldAt = new Map([['a', 1000]])
const minedAt = new Map([[7, 10_050]])
const noProofs = { announcedAt: new Map<string, number>(), probes: [] }

test('the shares add up to the time from the held payment to the settled payment', () => {
  const { shares, missing } = computeShares(createSale('a'), heldAt, minedAt, noProofs)
  expect(missing).toEqual([])
  const ours = { asking: 110, answering: 40, settling: 150 }
  expect(shares).toEqual([
    { market: 110 + 40 + 150, ...ours, proving: 0, withProof: 300, seller: 2000 + 1000, chain: 5900, total: 9200 },
  ])
  const [one] = shares
  expect(one && one.market + one.seller + one.chain).toBe(one?.total)
})

test('the time of probes of the channel between the block and SettlementStarted counts for the other nodes', () => {
  const on = (channel: string, from: number, to: number) => ({ channel, from, to })
  const probes = [
    on('4x1x0', 10_080, 10_110),
    on('4x1x0', 10_000, 10_070),
    on('4x1x0', 10_060, 10_090),
    on('4x1x0', 10_190, 10_300),
    on('4x2x0', 10_120, 10_180),
  ]
  const [one] = computeShares(createSale('a'), heldAt, minedAt, { ...noProofs, probes }).shares
  expect(one).toMatchObject({ proving: 50, settling: 100, seller: 3050, market: 110 + 40 + 100, chain: 5900, total: 9200 })
})

test.each([
  ['before the block', 9000, 0],
  ['after the block', 10_080, 30],
  ['after SettlementStarted', 10_150, 0],
])('the time from the block to the announcement counts for the other nodes: announced %s', (_, at, proving) => {
  const proofs = { announcedAt: new Map(Object.entries({ '4x1x0': at, '4x2x0': 10_090 })), probes: [] }
  const [one] = computeShares(createSale('a'), heldAt, minedAt, proofs).shares
  expect(one).toMatchObject({ proving, settling: 150 - proving, seller: 3000 + proving, chain: 5900, total: 9200 })
})

test('a sale with a missing moment is reported with the name of that moment', () => {
  expect(computeShares(createSale('a').slice(0, -2), heldAt, minedAt, noProofs)).toEqual({
    shares: [],
    missing: ['a: HoldSettled'],
  })
  expect(computeShares(createSale('a'), heldAt, new Map(), noProofs)).toEqual({
    shares: [],
    missing: ['a: the block that proved it'],
  })
  expect(computeShares([], heldAt, minedAt, noProofs).missing[0]).toMatch(/^a: ChannelOpenRequested, /)
  expect(computeShares(createSale('a'), new Map([['a', Number.NaN]]), minedAt, noProofs).missing).toEqual([
    'a: the payment at the node',
  ])
})
