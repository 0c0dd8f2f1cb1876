import type { PriceFact } from '@penstock/contracts/quote.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { priceDecider, type CurrentPrice, computePrice, type PriceSetData, priceStreamId } from './price.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000
const set = (over: Partial<PriceSetData> = {}, at = NOW): PriceSetData => ({
  satsPerUsd: '360000',
  usdPerUsd: '360.00',
  rate: { centsPerBtc: '10000000', at, samples: [] },
  fundingFees: null,
  validUntil: at + 5 * MINUTE,
  ...over,
})
const refresh = (now: CurrentPrice) => ({ type: 'RefreshPrice', data: { now } }) as const
const fact = (data: PriceSetData): PriceFact => ({ type: 'PriceSet', v: 1, data })
const withdrawn = (reason: string): PriceFact => ({ type: 'PriceWithdrawn', v: 1, data: { reason } })

test('a price is written when it changes, and again when half of its validity is over', () => {
  given(priceDecider)
    .when(refresh({ price: set() }), NOW)
    .then(fact(set()))
  given(priceDecider, fact(set()))
    .when(refresh({ price: set() }), NOW)
    .then()
  given(priceDecider, fact(set()))
    .when(refresh({ price: set({ satsPerUsd: '350000' }) }), NOW)
    .then(fact(set({ satsPerUsd: '350000' })))
  const fresher = set({}, NOW + 2.5 * MINUTE)
  given(priceDecider, fact(set()))
    .when(refresh({ price: fresher }), NOW + 2.5 * MINUTE - 1)
    .then()
  given(priceDecider, fact(set()))
    .when(refresh({ price: fresher }), NOW + 2.5 * MINUTE)
    .then(fact(fresher))
  // A rate with the same timestamp does not extend the validity.
  given(priceDecider, fact(set()))
    .when(refresh({ price: set() }), NOW + 4 * MINUTE)
    .then()
})

test('a price is withdrawn once per reason', () => {
  given(priceDecider)
    .when(refresh({ withdrawn: 'no seller' }))
    .then(withdrawn('no seller'))
  given(priceDecider, fact(set()))
    .when(refresh({ withdrawn: 'no seller' }))
    .then(withdrawn('no seller'))
  given(priceDecider, fact(set()), withdrawn('no seller'))
    .when(refresh({ withdrawn: 'no seller' }))
    .then()
  given(priceDecider, fact(set()), withdrawn('no seller'))
    .when(refresh({ withdrawn: 'no rate' }))
    .then(withdrawn('no rate'))
  given(priceDecider, fact(set()), withdrawn('no seller'))
    .when(refresh({ price: set() }), NOW)
    .then(fact(set()))
})

test('without a rate or a seller there is no price', () => {
  const market = {
    entries: [],
    pricing: { settings: { platformFeePpm: 0, platformFeeMinSat: 0n, newSellerCapSat: 0n, railsScore: 1 }, fees: null },
    leaseBlocks: 1,
    maxLeaseBlocks: 1,
  }
  expect(computePrice({ ...market, currentRate: { refused: { code: 'RATE_STALE', message: 'no rate' } } }, 300)).toEqual({
    withdrawn: 'no rate',
  })
  expect(computePrice({ ...market, currentRate: { rate: set().rate } }, 300)).toMatchObject({
    withdrawn: expect.stringContaining('seller') as string,
  })
})

test('the price has one stream per day', () => expect(priceStreamId(NOW)).toBe('2027-01-15'))
