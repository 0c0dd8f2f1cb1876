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
  told(id, 'HoldHeld', 1000),
  told(id, 'OpeningAsked', 1010),
  told(id, 'OutpointOffered', 3010),
  told(id, 'OutpointNamed', 3050),
  told(id, 'FundingSeen', 4050),
  told(id, 'SettleRequested', 10_100, { proof: { tipHeight: 7 } }),
  told(id, 'HoldSettled', 10_200),
  told(id, 'HoldSettled', 99_999),
]

test('who waits for whom adds up to the whole', () => {
  const [one, ...others] = sharesOf(sale('a'), new Map([[7, 10_050]]))
  expect(others).toEqual([])
  expect(one).toEqual({ us: 10 + 40 + 150, seller: 2000 + 1000, chain: 6000, whole: 9200 })
  expect(one && one.us + one.seller + one.chain).toBe(one?.whole)
})

test('a sale without its end, or without the block that proved it, is left out', () => {
  expect(sharesOf(sale('a').slice(0, -2), new Map([[7, 10_050]]))).toEqual([])
  expect(sharesOf(sale('a'), new Map())).toEqual([])
})
