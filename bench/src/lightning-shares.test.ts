import type { Event } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import { sharesOf } from './lightning-shares.ts'

const CATEGORIES = [
  ['Hold', 'settlement'],
  ['Settle', 'settlement'],
  ['FundingConfirmed', 'channel'],
] as const

const told = (aggregateId: string, type: string, at: number, data: object = {}) =>
  ({
    category: CATEGORIES.find(([start]) => type.startsWith(start))?.[1] ?? 'order',
    aggregateId,
    at,
    fact: { type, data },
  }) as Event // what is looked at of one

const sale = (id: string): Event[] => [
  told(id, 'HoldHeld', 1100),
  told(id, 'OpeningAsked', 1110),
  told(id, 'OutpointOffered', 3110),
  told(id, 'OutpointNamed', 3150),
  told(id, 'FundingSeen', 4150),
  told(id, 'FundingConfirmed', 5000, { shortChannelId: '4x1x0' }),
  told(id, 'SettleRequested', 10_100, { proof: { tipHeight: 7 } }),
  told(id, 'HoldSettled', 10_200),
  told(id, 'HoldSettled', 99_999),
]
/** Earlier than the market wrote it down. */
const held = new Map([['a', 1000]])
const mined = new Map([[7, 10_050]])
const nothing = { announcedAt: new Map<string, number>(), probes: [] }

test('who waits for whom adds up to the whole, from the moment when the node has the payment', () => {
  const { shares, missing } = sharesOf(sale('a'), held, mined, nothing)
  expect(missing).toEqual([])
  const ours = { asking: 110, answering: 40, settling: 150 }
  expect(shares).toEqual([
    { us: 110 + 40 + 150, ...ours, proving: 0, withProof: 300, seller: 2000 + 1000, chain: 5900, whole: 9200 },
  ])
  const [one] = shares
  expect(one && one.us + one.seller + one.chain).toBe(one?.whole)
})

test('the others have the time of a probe while one is under way, between the block and the wish to settle', () => {
  const on = (channel: string, from: number, to: number) => ({ channel, from, to })
  const probes = [
    on('4x1x0', 10_080, 10_110),
    on('4x1x0', 10_000, 10_070),
    on('4x1x0', 10_060, 10_090),
    on('4x1x0', 10_190, 10_300),
    on('4x2x0', 10_120, 10_180),
  ]
  const [one] = sharesOf(sale('a'), held, mined, { ...nothing, probes }).shares
  expect(one).toMatchObject({ proving: 50, settling: 100, seller: 3050, us: 110 + 40 + 100, chain: 5900, whole: 9200 })
})

test.each([
  ['before the block', 9000, 0],
  ['after it', 10_080, 30],
  ['told of after it was proven', 10_150, 0],
])('the others have the time until their announcement: %s', (_, at, proving) => {
  const proofs = { announcedAt: new Map(Object.entries({ '4x1x0': at, '4x2x0': 10_090 })), probes: [] }
  const [one] = sharesOf(sale('a'), held, mined, proofs).shares
  expect(one).toMatchObject({ proving, settling: 150 - proving, seller: 3000 + proving, chain: 5900, whole: 9200 })
})

test('what is missing of a sale is told, never left out in silence', () => {
  expect(sharesOf(sale('a').slice(0, -2), held, mined, nothing)).toEqual({ shares: [], missing: ['a: HoldSettled'] })
  expect(sharesOf(sale('a'), held, new Map(), nothing)).toEqual({ shares: [], missing: ['a: the block that proved it'] })
  expect(sharesOf([], held, mined, nothing).missing[0]).toMatch(/^a: OpeningAsked, /)
  expect(sharesOf(sale('a'), new Map([['a', Number.NaN]]), mined, nothing).missing).toEqual(['a: the payment at the node'])
})
