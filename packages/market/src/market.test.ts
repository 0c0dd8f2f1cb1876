import assert from 'node:assert/strict'
import { centsToSat, satToMsat } from '@penstock/kernel/money.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BookEntry } from './book.ts'
import { boundsOf, lspSellers, MIN_BUDGET_CENTS, perUsd } from './market.ts'
import { costOf, fundingFees, largestWithin, type MarketSettings, platformFeeMsat, readFees, recordFees } from './price.ts'
import { atBudget, candidateOf, forBudget, forSize, mostSat, type Pricing, serves, type Wish } from './rank.ts'
import { noEvidence, scoreOf, withOutcome } from './score.ts'

const settings: MarketSettings = { platformFeePpm: 500, platformFeeMinSat: 100n, newSellerCapSat: 0n, railsScore: 0.95 }
const pricing: Pricing = { settings, fees: { LOW: 200n, MEDIUM: 400n, HIGH: 900n } }
const anyone: Wish = { buyerPubkey: null, isPrivate: false, railsOnly: false, leaseBlocks: 4320, sellers: null }

const key = (n: number): string => `02${`${n}`.padStart(64, '0')}`
const entry = (
  n: number,
  over: Partial<BookEntry> = {},
  ofSeller: Partial<BookEntry['seller']> = {},
  promises = {},
): BookEntry => ({
  offerId: `00000000-0000-4000-8000-${`${n}`.padStart(12, '0')}`,
  accountId: `00000000-0000-4000-9000-${`${n}`.padStart(12, '0')}`,
  status: 'ENABLED',
  totalSizeSat: 50_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: 20_000_000n,
  promises: {
    baseFeeSat: '500',
    feeRatePpm: 2000,
    baseFeeCapSat: '1000',
    feeRateCapPpm: 500,
    minBlockLength: 13_140,
    onchainPriority: 'LOW',
    onchainMultiplier: 0,
    ...promises,
  },
  conditions: [],
  assetId: null,
  autoAccept: true,
  reservedSat: 0n,
  usedSat: 0n,
  availableSat: 50_000_000n,
  createdAt: n,
  ...over,
  seller: {
    pubkey: key(n),
    live: true,
    fundsSat: 90_000_000n,
    reservedSat: 0n,
    granted: false,
    rails: false,
    score: 0.5,
    evidence: noEvidence,
    ...ofSeller,
  },
})

const someEntry = fc
  .record({
    n: fc.nat(99),
    baseFeeSat: fc.nat(5000),
    feeRatePpm: fc.nat(50_000),
    onchainMultiplier: fc.constantFrom(0, 1, 1.5, 5),
    onchainPriority: fc.constantFrom('LOW' as const, 'MEDIUM' as const, 'HIGH' as const),
    min: fc.integer({ min: 20_000, max: 1_000_000 }),
    more: fc.nat(30_000_000),
    available: fc.nat(40_000_000),
    score: fc.double({ min: 0, max: 1, noNaN: true }),
    live: fc.boolean(),
  })
  .map(({ n, min, more, available, score, live, baseFeeSat, ...promises }) =>
    entry(
      n,
      { minSizeSat: BigInt(min), maxSizeSat: BigInt(min + more), availableSat: BigInt(available) },
      { score, live },
      { ...promises, baseFeeSat: `${baseFeeSat}` },
    ),
  )
const someBook = fc.uniqueArray(someEntry, { selector: ({ offerId }) => offerId, maxLength: 8 })
const someBudget = fc.bigInt({ min: 1n, max: 200_000n })

test('what a price is made of', () => {
  expect(costOf(entry(1).promises, 1_000_000n, null, settings)).toEqual({
    priceSat: 3000n,
    sellerAmountMsat: 2_500_000n,
    platformFeeMsat: 500_000n,
    roundingMsat: 0n,
  })
  expect(platformFeeMsat(100_000n, settings)).toBe(100_000n) // 50 sat are below the minimum
  const funded = entry(1, {}, {}, { onchainMultiplier: 1.5, onchainPriority: 'HIGH' }).promises
  expect(costOf(funded, 1_000_000n, pricing.fees, settings)?.sellerAmountMsat).toBe(2_500_000n + 1_350_000n)
  expect(costOf(funded, 1_000_000n, null, settings)).toBeUndefined()
})

test('what a funding costs hangs on how soon it is to confirm', async () => {
  expect(await fundingFees((blocks) => Promise.resolve(48 / blocks))).toEqual({ LOW: 308n, MEDIUM: 1232n, HIGH: 3696n })
  expect(readFees(recordFees(pricing.fees))).toEqual(pricing.fees)
  expect(readFees(recordFees(null))).toBeNull()
  await expect(fundingFees(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer')
})

test('a budget is used up to less than a satoshi, and no larger size is to be had for it', () => {
  fc.assert(
    fc.property(someEntry, someBudget, (one, budgetSat) => {
      const ranked = atBudget(one, budgetSat, pricing)
      if (typeof ranked !== 'object') return
      const { sizeSat, priceSat, sellerAmountMsat, platformFeeMsat: platform, roundingMsat } = ranked
      assert.equal(sellerAmountMsat + platform + roundingMsat, satToMsat(budgetSat))
      assert.equal(priceSat, budgetSat)
      assert.ok(roundingMsat >= 0n && roundingMsat < 1000n)
      assert.ok(
        sizeSat >= one.minSizeSat && sizeSat <= one.maxSizeSat && sizeSat <= one.availableSat && sizeSat <= one.seller.fundsSat,
      )
      const next = costOf(one.promises, sizeSat + 1n, pricing.fees, settings)
      assert.ok(next)
      assert.ok(next.sellerAmountMsat + next.platformFeeMsat > satToMsat(budgetSat) || sizeSat === mostSat(one, settings))
    }),
  )
})

test('more money never buys less at an offer', () => {
  fc.assert(
    fc.property(someEntry, someBudget, someBudget, (one, a, b) => {
      const [less, more] = [a < b ? a : b, a < b ? b : a].map((budget) => atBudget(one, budget, pricing))
      if (typeof less === 'object' && typeof more === 'object') assert.ok(less.sizeSat <= more.sizeSat)
      if (less === 'beyond') assert.equal(more, 'beyond')
      if (more === 'below') assert.equal(less, 'below')
    }),
  )
})

test('the money of a size adds up to the msat, and its price is whole', () => {
  fc.assert(
    fc.property(someEntry, fc.bigInt({ min: 1n, max: 30_000_000n }), (one, sizeSat) => {
      const cost = costOf(one.promises, sizeSat, pricing.fees, settings)
      assert.ok(cost && cost.roundingMsat >= 0n && cost.roundingMsat < 1000n)
      assert.equal(cost.sellerAmountMsat + cost.platformFeeMsat + cost.roundingMsat, satToMsat(cost.priceSat))
    }),
  )
})

test('what a dollar buys is what the smallest order gets, exactly', () => {
  fc.assert(
    fc.property(someBook, fc.bigInt({ min: 100_000n, max: 50_000_000n }), (book, centsPerBtc) => {
      const quoted = perUsd(book, 4320, centsPerBtc, pricing)
      const [bought] = forBudget(book, anyone, centsToSat(MIN_BUDGET_CENTS, centsPerBtc), pricing)
      assert.equal(quoted?.satsPerUsd, bought && bought.sizeSat / 5n)
    }),
  )
  expect(perUsd([entry(1)], 4320, 10_000_000n, pricing)).toEqual({ satsPerUsd: 360_000n, usdPerUsd: '360.00' })
})

test('whoever is ranked serves; the first has most capacity, ties go by score', () => {
  fc.assert(
    fc.property(someBook, someBudget, (book, budgetSat) => {
      const ranked = forBudget(book, anyone, budgetSat, pricing)
      for (const [index, one] of ranked.entries()) {
        assert.ok(serves(one.entry, anyone))
        const next = ranked[index + 1]
        if (!next) continue
        assert.ok(one.sizeSat >= next.sizeSat)
        if (one.sizeSat === next.sizeSat) assert.ok(one.entry.seller.score >= next.entry.seller.score)
      }
    }),
  )
})

test('largestWithin is the largest', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 5000n }),
      fc.bigInt({ min: 0n, max: 300n }),
      fc.bigInt({ min: 1n, max: 50n }),
      (budget, most, step) => {
        const found = largestWithin(budget, most, (size) => size * step)
        assert.equal(found, budget / step < most ? budget / step : most)
      },
    ),
  )
  expect(largestWithin(5n, 10n, () => 6n)).toBeUndefined()
})

test.each<[string, BookEntry, Partial<Wish>]>([
  ['disabled', entry(1, { status: 'DISABLED' }), {}],
  ['asks for approval', entry(1, { autoAccept: false }), {}],
  ['silent', entry(1, {}, { live: false }), {}],
  ['another asset', entry(1, { assetId: 'usd' }), {}],
  ['conditions', entry(1, { conditions: [{ condition: 'NODE_CHANNELS', operator: 'GREATER_THAN', value: '5' }] }), {}],
  ['lease too short', entry(1, {}, {}, { minBlockLength: 4319 }), {}],
  ['not rails, private order', entry(1), { isPrivate: true }],
  ['not rails, rails order', entry(1), { railsOnly: true }],
  ['not named', entry(1), { sellers: [key(2)] }],
  ['itself the buyer', entry(1), { buyerPubkey: key(1) }],
])('does not serve: %s', (_, one, wish) => {
  expect(serves(one, { ...anyone, ...wish })).toBe(false)
})

test('what is sold is bounded by funds, by what is reserved, and for new sellers', () => {
  const most = (one: BookEntry, over: Partial<MarketSettings> = {}) =>
    boundsOf([one], anyone, { ...pricing, settings: { ...settings, ...over } })?.maxSizeSat
  expect(most(entry(1))).toBe(20_000_000n)
  expect(most(entry(1, { availableSat: 7_000_000n }))).toBe(7_000_000n)
  expect(most(entry(1, {}, { fundsSat: 6_000_000n, reservedSat: 1_000_000n }))).toBe(5_000_000n)
  expect(most(entry(1), { newSellerCapSat: 4_000_000n })).toBe(4_000_000n)
  const known = withOutcome(noEvidence, 'valid', 0)
  expect(most(entry(1, {}, { evidence: known }), { newSellerCapSat: 4_000_000n })).toBe(20_000_000n)
  expect(most(entry(1, { availableSat: 99_999n }))).toBeUndefined()
})

test('recommended goes by score, cheapest by price', () => {
  const dear = entry(1, {}, { score: 0.9 }, { feeRatePpm: 3000 })
  const cheap = entry(2, {}, { score: 0.4 })
  const book = [dear, cheap, entry(3, { minSizeSat: 5_000_000n }, { score: 0.8 }, { feeRatePpm: 2500 })]
  const sellers = (ranking: 'recommended' | 'cheapest') =>
    forSize(book, anyone, 1_000_000n, ranking, pricing).map(({ entry: { offerId } }) => offerId)
  expect(sellers('recommended')).toEqual([dear.offerId, cheap.offerId])
  expect(sellers('cheapest')).toEqual([cheap.offerId, dear.offerId])
  expect(lspSellers([...book, entry(4, {}, { score: 0.1 }, { feeRatePpm: 9000 })], 'recommended', 13_140, pricing)).toEqual(
    [1, 3, 2].map(key),
  )
  expect(lspSellers(book, 'cheapest', 13_140, pricing)).toEqual([2, 3, 1].map(key))
  const [first] = forSize(book, anyone, 1_000_000n, 'cheapest', pricing)
  assert.ok(first)
  expect(candidateOf(first)).toMatchObject({
    offerId: cheap.offerId,
    sellerPubkey: key(2),
    sellerAmountMsat: '2500000',
    rails: false,
  })
})

const DAY = 86_400_000
test('a score rises with good sales, falls with bad ones, and fades to that of a stranger', () => {
  const good = Array.from({ length: 18 }, () => 'valid' as const).reduce(
    (evidence, outcome) => withOutcome(evidence, outcome, DAY),
    noEvidence,
  )
  expect(scoreOf(noEvidence, DAY)).toBe(0.5)
  expect(scoreOf(good, DAY)).toBeCloseTo(0.95)
  expect(scoreOf(good, 31 * DAY)).toBeLessThan(scoreOf(good, DAY))
  expect(scoreOf(good, 3000 * DAY)).toBeCloseTo(0.5)
  expect(scoreOf(withOutcome(good, 'invalid', DAY), DAY)).toBeLessThan(0.85)
  expect(scoreOf(withOutcome(good, 'rejected', DAY), DAY)).toBe(scoreOf(good, DAY))
  // Late news counts as old as it is, in whatever order it comes.
  const late = withOutcome(withOutcome(noEvidence, 'valid', 40 * DAY), 'invalid', 10 * DAY)
  const inTime = withOutcome(withOutcome(noEvidence, 'invalid', 10 * DAY), 'valid', 40 * DAY)
  expect(scoreOf(late, 41 * DAY)).toBeCloseTo(scoreOf(inTime, 41 * DAY))
})
