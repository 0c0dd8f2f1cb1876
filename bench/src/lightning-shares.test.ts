import type { Event } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import { sharesOf } from './lightning-shares.ts'

const told = (aggregateId: string, type: string, at: number, data: object = {}) =>
  ({
    category: type.startsWith('Hold') || type.startsWith('Settle') ? 'settlement' : 'order',
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
  told(id, 'SettleRequested', 10_100, { proof: { tipHeight: 7 } }),
  told(id, 'HoldSettled', 10_200),
  told(id, 'HoldSettled', 99_999),
]
/** Earlier than the market wrote it down. */
const held = new Map([['a', 1000]])
const mined = new Map([[7, 10_050]])

test('who waits for whom adds up to the whole, from the moment when the node has the payment', () => {
  const { shares, missing } = sharesOf(sale('a'), held, mined)
  expect(missing).toEqual([])
  const ours = { asking: 110, answering: 40, settling: 150 }
  expect(shares).toEqual([{ us: 110 + 40 + 150, ...ours, seller: 2000 + 1000, chain: 5900, whole: 9200 }])
  const [one] = shares
  expect(one && one.us + one.seller + one.chain).toBe(one?.whole)
})

test('what is missing of a sale is told, never left out in silence', () => {
  expect(sharesOf(sale('a').slice(0, -2), held, mined)).toEqual({ shares: [], missing: ['a: HoldSettled'] })
  expect(sharesOf(sale('a'), held, new Map())).toEqual({ shares: [], missing: ['a: the block that proved it'] })
  expect(sharesOf([], held, mined).missing[0]).toMatch(/^a: OpeningAsked, /)
  expect(sharesOf(sale('a'), new Map([['a', Number.NaN]]), mined).missing).toEqual(['a: the payment at the node'])
})
