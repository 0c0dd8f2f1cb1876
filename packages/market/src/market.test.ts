import assert from 'node:assert/strict'
import { centsToSat, satToMsat } from '@penstock/kernel/money.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BookEntry } from './order-book.ts'
import { computePurchaseBounds, selectLspSellers, MIN_BUDGET_CENTS, quotePerUsd } from './market.ts'
import {
  computeCost,
  estimateFundingFees,
  findLargestWithin,
  type MarketSettings,
  computePlatformFeeMsat,
  parseFees,
  serialiseFees,
} from './price.ts'
import {
  priceAtBudget,
  toCandidate,
  rankForBudget,
  rankForSize,
  maxCapacitySat,
  type Pricing,
  canServe,
  type SellerRequirements,
} from './rank.ts'
import { noEvidence, computeScore, addOutcome } from './score.ts'

const settings: MarketSettings = { platformFeePpm: 500, platformFeeMinSat: 100n, newSellerCapSat: 0n, railsScore: 0.95 }
const pricing: Pricing = { settings, fees: { LOW: 200n, MEDIUM: 400n, HIGH: 900n } }
const noRequirements: SellerRequirements = {
  buyerPubkey: null,
  isPrivate: false,
  railsOnly: false,
  leaseBlocks: 4320,
  sellers: null,
}

const key = (n: number): string => `02${`${n}`.padStart(64, '0')}`
const entry = (
  n: number,
  overrides: Partial<BookEntry> = {},
  sellerOverrides: Partial<BookEntry['seller']> = {},
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
  ...overrides,
  seller: {
    pubkey: key(n),
    live: true,
    fundsSat: 90_000_000n,
    reservedSat: 0n,
    fundedSat: 0n,
    granted: false,
    rails: false,
    score: 0.5,
    evidence: noEvidence,
    ...sellerOverrides,
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

test('a price consists of the seller amount, the platform fee and the rounding', () => {
  expect(computeCost(entry(1).promises, 1_000_000n, null, settings)).toEqual({
    priceSat: 3000n,
    sellerAmountMsat: 2_500_000n,
    platformFeeMsat: 500_000n,
    roundingMsat: 0n,
  })
  expect(computePlatformFeeMsat(100_000n, settings)).toBe(100_000n) // 50 sat are below the minimum
  const funded = entry(1, {}, {}, { onchainMultiplier: 1.5, onchainPriority: 'HIGH' }).promises
  expect(computeCost(funded, 1_000_000n, pricing.fees, settings)?.sellerAmountMsat).toBe(2_500_000n + 1_350_000n)
  expect(computeCost(funded, 1_000_000n, null, settings)).toBeUndefined()
})

test('a funding fee depends on the confirmation target of its priority', async () => {
  expect(await estimateFundingFees((blocks) => Promise.resolve(48 / blocks))).toEqual({ LOW: 308n, MEDIUM: 1232n, HIGH: 3696n })
  expect(parseFees(serialiseFees(pricing.fees))).toEqual(pricing.fees)
  expect(parseFees(serialiseFees(null))).toBeNull()
  await expect(estimateFundingFees(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer')
})

test('a budget is spent except for less than a satoshi, and buys the largest possible size', () => {
  fc.assert(
    fc.property(someEntry, someBudget, (one, budgetSat) => {
      const ranked = priceAtBudget(one, budgetSat, pricing)
      if (typeof ranked !== 'object') return
      const { sizeSat, priceSat, sellerAmountMsat, platformFeeMsat: platform, roundingMsat } = ranked
      assert.equal(sellerAmountMsat + platform + roundingMsat, satToMsat(budgetSat))
      assert.equal(priceSat, budgetSat)
      assert.ok(roundingMsat >= 0n && roundingMsat < 1000n)
      assert.ok(
        sizeSat >= one.minSizeSat && sizeSat <= one.maxSizeSat && sizeSat <= one.availableSat && sizeSat <= one.seller.fundsSat,
      )
      const next = computeCost(one.promises, sizeSat + 1n, pricing.fees, settings)
      assert.ok(next)
      assert.ok(next.sellerAmountMsat + next.platformFeeMsat > satToMsat(budgetSat) || sizeSat === maxCapacitySat(one, settings))
    }),
  )
})

test('a larger budget never buys a smaller size from an offer', () => {
  fc.assert(
    fc.property(someEntry, someBudget, someBudget, (one, a, b) => {
      const [less, more] = [a < b ? a : b, a < b ? b : a].map((budget) => priceAtBudget(one, budget, pricing))
      if (typeof less === 'object' && typeof more === 'object') assert.ok(less.sizeSat <= more.sizeSat)
      if (less === 'beyond') assert.equal(more, 'beyond')
      if (more === 'below') assert.equal(less, 'below')
    }),
  )
})

test('the parts of a price add up to the msat, and the price is a whole satoshi', () => {
  fc.assert(
    fc.property(someEntry, fc.bigInt({ min: 1n, max: 30_000_000n }), (one, sizeSat) => {
      const cost = computeCost(one.promises, sizeSat, pricing.fees, settings)
      assert.ok(cost && cost.roundingMsat >= 0n && cost.roundingMsat < 1000n)
      assert.equal(cost.sellerAmountMsat + cost.platformFeeMsat + cost.roundingMsat, satToMsat(cost.priceSat))
    }),
  )
})

test('the quoted capacity per dollar is exactly a fifth of the capacity of the smallest order', () => {
  fc.assert(
    fc.property(someBook, fc.bigInt({ min: 100_000n, max: 50_000_000n }), (book, centsPerBtc) => {
      const quoted = quotePerUsd(book, 4320, centsPerBtc, pricing)
      const [bought] = rankForBudget(book, noRequirements, centsToSat(MIN_BUDGET_CENTS, centsPerBtc), pricing)
      assert.equal(quoted?.satsPerUsd, bought && bought.sizeSat / 5n)
    }),
  )
  expect(quotePerUsd([entry(1)], 4320, 10_000_000n, pricing)).toEqual({ satsPerUsd: 360_000n, usdPerUsd: '360.00' })
})

test('the ranking contains only offers that can serve, sorted by capacity and then by score', () => {
  fc.assert(
    fc.property(someBook, someBudget, (book, budgetSat) => {
      const ranked = rankForBudget(book, noRequirements, budgetSat, pricing)
      for (const [index, one] of ranked.entries()) {
        assert.ok(canServe(one.entry, noRequirements))
        const next = ranked[index + 1]
        if (!next) continue
        assert.ok(one.sizeSat >= next.sizeSat)
        if (one.sizeSat === next.sizeSat) assert.ok(one.entry.seller.score >= next.entry.seller.score)
      }
    }),
  )
})

test('findLargestWithin finds the largest affordable size', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 5000n }),
      fc.bigInt({ min: 0n, max: 300n }),
      fc.bigInt({ min: 1n, max: 50n }),
      (budget, most, step) => {
        const found = findLargestWithin(budget, most, (size) => size * step)
        assert.equal(found, budget / step < most ? budget / step : most)
      },
    ),
  )
  expect(findLargestWithin(5n, 10n, () => 6n)).toBeUndefined()
})

test.each<[string, BookEntry, Partial<SellerRequirements>]>([
  ['a disabled offer', entry(1, { status: 'DISABLED' }), {}],
  ['an offer without standing acceptance', entry(1, { autoAccept: false }), {}],
  ['a seller that is not live', entry(1, {}, { live: false }), {}],
  ['another asset', entry(1, { assetId: 'usd' }), {}],
  ['a conditional offer', entry(1, { conditions: [{ condition: 'NODE_CHANNELS', operator: 'GREATER_THAN', value: '5' }] }), {}],
  ['too short a lease', entry(1, {}, {}, { minBlockLength: 4319 }), {}],
  ['a private order outside rails', entry(1), { isPrivate: true }],
  ['a rails order outside rails', entry(1), { railsOnly: true }],
  ['a seller that the order excludes', entry(1), { sellers: [key(2)] }],
  ['a seller that is the buyer', entry(1), { buyerPubkey: key(1) }],
])('an offer cannot serve: %s', (_, one, requirements) => {
  expect(canServe(one, { ...noRequirements, ...requirements })).toBe(false)
})

test('the largest size is bounded by funds, by reservations, and by the cap for new sellers', () => {
  const most = (one: BookEntry, over: Partial<MarketSettings> = {}) =>
    computePurchaseBounds([one], noRequirements, { ...pricing, settings: { ...settings, ...over } })?.maxSizeSat
  expect(most(entry(1))).toBe(20_000_000n)
  expect(most(entry(1, { availableSat: 7_000_000n }))).toBe(7_000_000n)
  expect(most(entry(1, {}, { fundsSat: 6_000_000n, reservedSat: 1_000_000n }))).toBe(5_000_000n)
  // The funding of a reserved channel has taken its coins out of the attested funds already.
  const withFunding = entry(1, {}, { fundsSat: 6_000_000n, reservedSat: 3_000_000n, fundedSat: 2_000_000n })
  expect(most(withFunding)).toBe(5_000_000n)
  expect(most(withFunding, { newSellerCapSat: 4_000_000n })).toBe(1_000_000n)
  expect(most(entry(1), { newSellerCapSat: 4_000_000n })).toBe(4_000_000n)
  const known = addOutcome(noEvidence, 'valid', 0)
  expect(most(entry(1, {}, { evidence: known }), { newSellerCapSat: 4_000_000n })).toBe(20_000_000n)
  expect(most(entry(1, { availableSat: 99_999n }))).toBeUndefined()
})

test('recommended ranks by score, and cheapest ranks by price', () => {
  const expensive = entry(1, {}, { score: 0.9 }, { feeRatePpm: 3000 })
  const cheap = entry(2, {}, { score: 0.4 })
  const book = [expensive, cheap, entry(3, { minSizeSat: 5_000_000n }, { score: 0.8 }, { feeRatePpm: 2500 })]
  const sellers = (ranking: 'recommended' | 'cheapest') =>
    rankForSize(book, noRequirements, 1_000_000n, ranking, pricing).map(({ entry: { offerId } }) => offerId)
  expect(sellers('recommended')).toEqual([expensive.offerId, cheap.offerId])
  expect(sellers('cheapest')).toEqual([cheap.offerId, expensive.offerId])
  expect(selectLspSellers([...book, entry(4, {}, { score: 0.1 }, { feeRatePpm: 9000 })], 'recommended', 13_140, pricing)).toEqual(
    [1, 3, 2].map(key),
  )
  expect(selectLspSellers(book, 'cheapest', 13_140, pricing)).toEqual([2, 3, 1].map(key))
  const [first] = rankForSize(book, noRequirements, 1_000_000n, 'cheapest', pricing)
  assert.ok(first)
  expect(toCandidate(first)).toMatchObject({
    offerId: cheap.offerId,
    sellerPubkey: key(2),
    sellerAmountMsat: '2500000',
    rails: false,
  })
})

const DAY = 86_400_000
test('a score rises with good outcomes, falls with bad outcomes, and decays to the score of a new seller', () => {
  const good = Array.from({ length: 18 }, () => 'valid' as const).reduce(
    (evidence, outcome) => addOutcome(evidence, outcome, DAY),
    noEvidence,
  )
  expect(computeScore(noEvidence, DAY)).toBe(0.5)
  expect(computeScore(good, DAY)).toBeCloseTo(0.95)
  expect(computeScore(good, 31 * DAY)).toBeLessThan(computeScore(good, DAY))
  expect(computeScore(good, 3000 * DAY)).toBeCloseTo(0.5)
  expect(computeScore(addOutcome(good, 'invalid', DAY), DAY)).toBeLessThan(0.85)
  expect(computeScore(addOutcome(good, 'rejected', DAY), DAY)).toBe(computeScore(good, DAY))
  // A late outcome counts with its true age, regardless of the order of arrival.
  const late = addOutcome(addOutcome(noEvidence, 'valid', 40 * DAY), 'invalid', 10 * DAY)
  const inTime = addOutcome(addOutcome(noEvidence, 'invalid', 10 * DAY), 'valid', 40 * DAY)
  expect(computeScore(late, 41 * DAY)).toBeCloseTo(computeScore(inTime, 41 * DAY))
})
