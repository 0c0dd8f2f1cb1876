import { createBookEntry, pubkeyFor, uuidFor } from '@penstock/testkit/book-entries.ts'
import assert from 'node:assert/strict'
import { optionMismatch, type QuoteFact, type QuoteRefusal, quoteRefusals } from '@penstock/contracts/quote.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import type { BookEntry } from '@penstock/market/order-book.ts'
import { quotePerUsd } from '@penstock/market/market.ts'
import { readConfig } from '@penstock/config/config.ts'
import { given } from '@penstock/testkit/given.ts'
import { createQuoteRequest } from '@penstock/testkit/quote-request.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MarketSnapshot, RequestQuoteData } from './choose-offer.ts'
import { quoteProcess, quoteDecider, type EnrichedQuoteCommand } from './quote.ts'

const NOW = 1_800_000_000_000
const orderId = '00000000-0000-4000-8000-0000000000ff'
const promises = {
  baseFeeSat: '500',
  feeRatePpm: 2000,
  baseFeeCapSat: '1000',
  feeRateCapPpm: 500,
  minBlockLength: 13_140,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 0,
}
const entry = (n: number, over: Partial<BookEntry> = {}, seller: Partial<BookEntry['seller']> = {}) =>
  createBookEntry(n, promises, over, seller)

const config = readConfig({ PENSTOCK_NEW_SELLER_CAP_SAT: '0' })
const rate = { centsPerBtc: '10000000', at: NOW, samples: [{ source: 'fixed', centsPerBtc: '10000000', at: NOW }] }
const market = (entries: readonly BookEntry[], over: Partial<MarketSnapshot> = {}): MarketSnapshot => ({
  entries,
  pricing: { settings: config, fees: null },
  currentRate: { rate },
  leaseBlocks: config.leaseBlocks,
  maxLeaseBlocks: config.maxChannelExpiryBlocks,
  ...over,
})
const request: RequestQuoteData = createQuoteRequest(uuidFor(70), { pubkey: pubkeyFor(50), sockets: ['127.0.0.1:9735'] })
const lsps = { ...request, source: 'lsps1-cheapest' as const, usdCents: null, sizeSat: '1000000', leaseBlocks: 13_140 }
const manual = { ...request, source: 'manual' as const, usdCents: null, sizeSat: '1000000', offerId: uuidFor(1) }
const requestQuote = (wanted: RequestQuoteData, snapshot: MarketSnapshot): CommandBody<EnrichedQuoteCommand> => ({
  type: 'RequestQuote',
  data: { ...wanted, market: snapshot, settings: config },
})

const quoteOf = (wanted: RequestQuoteData, snapshot: MarketSnapshot) => {
  const { decision } = given(quoteDecider).when(requestQuote(wanted, snapshot))
  assert.ok('facts' in decision, JSON.stringify(decision))
  const [fact] = decision.facts
  assert.ok(fact?.type === 'Quoted')
  return fact.data
}

test('a budget buys the most capacity, and is the amount of the invoice', () => {
  const { terms, fundingFees } = quoteOf(request, market([entry(1, { promises: { ...promises, feeRatePpm: 2500 } }), entry(2)]))
  // 5 USD are 5,000 sat: 500 base, the rest at 2,500 ppm for seller and platform together.
  expect(terms).toMatchObject({
    priceSat: '5000',
    sizeSat: '1800001',
    platformFeeMsat: '900000',
    usdCents: '500',
    autoAccepted: true,
    leaseBlocks: 4320,
    requiredConfirmations: 3,
    rate,
    candidate: { offerId: uuidFor(2), sellerAmountMsat: '4100000' },
    policy: { cltvDelta: 150 },
  })
  expect(fundingFees).toBeNull()
})

test('the fee estimate behind a price is recorded', () => {
  const fees = { LOW: 200n, MEDIUM: 400n, HIGH: 900n }
  const one = entry(1, { promises: { ...promises, onchainMultiplier: 2 } })
  const { terms, fundingFees } = quoteOf(request, market([one], { pricing: { settings: config, fees } }))
  expect(fundingFees).toEqual({ LOW: '200', MEDIUM: '400', HIGH: '900' })
  expect(terms.candidate.sellerAmountMsat).toBe(`${((900_000n + BigInt(terms.sizeSat) * 2n) / 1000n) * 1000n}`)
})

test('a capacity is priced in whole satoshis, by the ranking of LSPS1', () => {
  const book = [entry(1, { promises: { ...promises, feeRatePpm: 2001 } }, { score: 0.9 }), entry(2)]
  expect(quoteOf({ ...lsps, sizeSat: '1000002' }, market(book)).terms).toMatchObject({
    sizeSat: '1000002',
    priceSat: '3001',
    candidate: { offerId: uuidFor(2) },
    leaseBlocks: 13_140,
  })
  expect(quoteOf({ ...lsps, source: 'lsps1-recommended' }, market(book)).terms.candidate.offerId).toBe(uuidFor(1))
  expect(quoteOf({ ...lsps, sellers: [pubkeyFor(1)] }, market(book)).terms.candidate.offerId).toBe(uuidFor(1))
  // A price in satoshis needs no rate.
  const currentRate = { refused: { code: 'RATE_STALE' as const, message: 'none' } }
  expect(quoteOf(lsps, market(book, { currentRate })).terms.rate).toBeNull()
})

test('a manual order needs neither a live agent nor standing acceptance, but then waits for its seller', () => {
  const offer = entry(
    1,
    { autoAccept: false, conditions: [{ condition: 'NODE_CHANNELS', operator: 'GREATER_THAN', value: '1' }] },
    { live: false, fundsSat: 0n },
  )
  expect(quoteOf(manual, market([offer])).terms).toMatchObject({
    autoAccepted: false,
    sizeSat: '1000000',
    priceSat: '3000',
    leaseBlocks: 13_140,
    policy: { maxAttempts: 1 },
  })
})

test('a manual order is accepted at once if its offer accepts automatically, has a live seller, and has the funds', () => {
  const invoiceBefore = NOW + 60_000
  const termsOf = (over: Partial<BookEntry>, seller: Partial<BookEntry['seller']> = {}) =>
    quoteOf({ ...manual, invoiceBefore }, market([entry(1, over, seller)])).terms
  expect(termsOf({})).toMatchObject({ source: 'manual', autoAccepted: true, invoiceBefore, policy: { maxAttempts: 1 } })
  const waiting = [
    termsOf({ autoAccept: false }),
    termsOf({ conditions: [{ condition: 'NODE_CHANNELS', operator: 'GREATER_THAN', value: '1' }] }),
    termsOf({}, { live: false }),
    termsOf({}, { fundsSat: 999_999n }),
    termsOf({}, { reservedSat: 5_000_000n, fundsSat: 5_999_999n }),
  ]
  for (const terms of waiting) expect([terms.autoAccepted, terms.invoiceBefore]).toEqual([false, undefined])
})

const book = [entry(1)]
test.each<[QuoteRefusal, RequestQuoteData, MarketSnapshot, RegExp]>([
  ['WRONG_REQUEST', { ...request, usdCents: null }, market(book), /either usd_cents or size/],
  ['WRONG_REQUEST', { ...request, sizeSat: '1000000' }, market(book), /not both/],
  ['WRONG_REQUEST', { ...manual, sizeSat: null }, market(book), /the size that you want/],
  ['WRONG_REQUEST', { ...manual, destination: { pubkey: pubkeyFor(1), sockets: [] } }, market(book), /itself/],
  ['USD_CENTS_TOO_LOW', { ...request, usdCents: '499' }, market(book), /at least 500/],
  ['ASSET_NOT_SOLD', { ...request, assetId: 'usd' }, market(book), /Only bitcoin/],
  ['RATE_STALE', request, market(book, { currentRate: { refused: { code: 'RATE_STALE', message: 'none' } } }), /none/],
  ['RATES_DIFFER', request, market(book, { currentRate: { refused: { code: 'RATES_DIFFER', message: 'two' } } }), /two/],
  ['NO_SELLER', request, market([]), /No live seller/],
  ['NO_SELLER', request, market([entry(1, {}, { live: false })]), /No live seller/],
  ['NO_SELLER', { ...request, isPrivate: true }, market(book), /rails cluster/],
  ['NO_SELLER', lsps, market([entry(1, { promises: { ...promises, minBlockLength: 13_139 } })]), /No live seller/],
  ['AMOUNT_TOO_HIGH', { ...request, usdCents: '100000' }, market(book), /the most is 13\.00 USD \(13000 sat\)/],
  ['AMOUNT_TOO_LOW', request, market([entry(1, { minSizeSat: 4_000_000n })]), /the least is 10\.50 USD/],
  [
    'AMOUNT_NOT_OFFERED',
    { ...request, usdCents: '700' },
    market([entry(1, { maxSizeSat: 200_000n }), entry(2, { minSizeSat: 4_000_000n })]),
    /try another/,
  ],
  ['AMOUNT_TOO_HIGH', { ...lsps, sizeSat: '5000001' }, market(book), /the most is 5000000 sat/],
  ['AMOUNT_TOO_LOW', { ...lsps, sizeSat: '99999' }, market(book), /the least is 100000 sat/],
  ['AMOUNT_NOT_OFFERED', lsps, market([entry(1, { maxSizeSat: 200_000n }), entry(2, { minSizeSat: 4_000_000n })]), /try another/],
  ['OFFER_NOT_FOUND', manual, market([]), /no such offer/],
  ['OFFER_NOT_OPEN', manual, market([entry(1, { status: 'DISABLED' })]), /not open/],
  ['OFFER_NOT_OPEN', manual, market([entry(1, { promises: { ...promises, onchainMultiplier: 1 } })]), /not known now/],
  ['OFFER_SIZE', { ...manual, sizeSat: '5000001' }, market(book), /between 100000 and 5000000/],
  ['OFFER_SIZE', { ...manual, sizeSat: '99999' }, market(book), /between/],
  ['OFFER_PRIVATE', { ...manual, isPrivate: true }, market(book), /rails/],
  ['OFFER_RAILS', { ...manual, railsOnly: true }, market(book), /rails/],
  ['LEASE_TOO_LONG', { ...lsps, leaseBlocks: 13_141 }, market(book), /at most 13140/],
  [
    'LEASE_TOO_LONG',
    { ...manual, leaseBlocks: 13_000 },
    market([entry(1, { promises: { ...promises, minBlockLength: 4320 } })]),
    /promises 4320/,
  ],
  ['FUNDING_CONFIRMS_TOO_LATE', { ...lsps, fundingConfirmsWithinBlocks: 500 }, market(book), /at most 144/],
  ['TOO_MANY_CONFIRMATIONS', { ...lsps, requiredConfirmations: 500 }, market(book), /at most 144/],
])('a request is refused with %s', (code, wanted, snapshot, sentence) => {
  const outcome = given(quoteDecider).when(requestQuote(wanted, snapshot))
  outcome.refuses(code)
  assert.match('refused' in outcome.decision ? outcome.decision.refused.message : '', sentence)
})

test('the LSPS1 option mismatches use refusal codes that exist', () => {
  for (const code of Object.keys(optionMismatch)) expect(quoteRefusals).toContain(code)
})

test('the maximum and the minimum in a refusal can be bought', () => {
  const some = fc.record({
    feeRatePpm: fc.nat(50_000),
    min: fc.integer({ min: 20_000, max: 900_000 }),
    more: fc.nat(5_000_000),
    baseFeeSat: fc.nat(9_000),
  })
  fc.assert(
    fc.property(some, ({ feeRatePpm, min, more, baseFeeSat }) => {
      const one = entry(1, {
        minSizeSat: BigInt(min),
        maxSizeSat: BigInt(min + more),
        promises: { ...promises, feeRatePpm, baseFeeSat: `${baseFeeSat}` },
      })
      for (const usdCents of ['500', '99999999']) {
        const { decision } = given(quoteDecider).when(
          requestQuote({ ...request, usdCents }, market([one], { currentRate: { rate: { ...rate, centsPerBtc: '100000000' } } })),
        )
        const [, named] =
          'refused' in decision ? (/the (?:least|most) is [\d.]+ USD \((\d+) sat\)/.exec(decision.refused.message) ?? []) : []
        // At one cent per satoshi, the amount in sat is also the budget in cents.
        const wanted = { ...request, usdCents: `${named}` }
        if (named && Number(named) >= 500)
          quoteOf(wanted, market([one], { currentRate: { rate: { ...rate, centsPerBtc: '100000000' } } }))
      }
    }),
  )
})

test('the amounts of a quote add up, and its size is the announced size per dollar', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1000, max: 9000 }),
      fc.bigInt({ min: 2_000_000n, max: 40_000_000n }),
      (feeRatePpm, centsPerBtc) => {
        const snapshot = market([entry(1, { promises: { ...promises, feeRatePpm } }), entry(2)], {
          currentRate: { rate: { ...rate, centsPerBtc: `${centsPerBtc}` } },
        })
        const { decision } = given(quoteDecider).when(requestQuote(request, snapshot))
        const announced = quotePerUsd(snapshot.entries, snapshot.leaseBlocks, centsPerBtc, snapshot.pricing)
        if ('refused' in decision) return assert.equal(announced, undefined)
        const { terms } = quoteOf(request, snapshot)
        assert.equal(BigInt(terms.sizeSat) / 5n, announced?.satsPerUsd)
        const rest = satToMsat(BigInt(terms.priceSat)) - BigInt(terms.candidate.sellerAmountMsat) - BigInt(terms.platformFeeMsat)
        assert.ok(rest >= 0n && rest < 1000n)
      },
    ),
  )
})

test('the terms contain the deadline for the invoice, except for an order that its seller has to accept', () => {
  const invoiceBefore = 1_700_000_015_000
  const termsOf = (wanted: RequestQuoteData) => quoteOf({ ...wanted, invoiceBefore }, market(book)).terms
  expect(termsOf(request)).toMatchObject({ autoAccepted: true, invoiceBefore })
  const snapshot = market([entry(1, { autoAccept: false })])
  const waitingTerms = quoteOf({ ...manual, invoiceBefore }, snapshot).terms
  expect(waitingTerms).toMatchObject({ autoAccepted: false })
  expect(waitingTerms).not.toHaveProperty('invoiceBefore')
})

test('a quote is created once, and places one order', () => {
  const fact: QuoteFact = { type: 'Quoted', v: 3, data: quoteOf(request, market(book)) }
  const placed: QuoteFact = { type: 'QuotePlaced', v: 1, data: {} } // of an earlier version
  given(quoteDecider, fact)
    .when(requestQuote(request, market([])))
    .then()
  given(quoteDecider, fact, placed)
    .when(requestQuote(request, market([])))
    .then()
  expect(quoteProcess(fold(quoteDecider, [fact]), orderId)).toEqual([
    {
      kind: 'command',
      category: 'order',
      id: orderId,
      step: 'place',
      attempt: 1,
      isSentOnce: true,
      command: { type: 'PlaceOrder', data: fact.data.terms },
    },
  ])
  const invoiceBefore = 1_700_000_015_000
  const awaited: QuoteFact = { type: 'Quoted', v: 3, data: quoteOf({ ...request, invoiceBefore }, market(book)) }
  const approved: QuoteFact = {
    type: 'Quoted',
    v: 3,
    data: quoteOf({ ...manual, invoiceBefore }, market([entry(1, { autoAccept: false })])),
  }
  for (const one of [awaited, approved])
    expect(quoteProcess(fold(quoteDecider, [one]), orderId)).toMatchObject([{ step: 'place', notAfter: invoiceBefore }])
  expect(quoteProcess(fold(quoteDecider, [fact, placed]), orderId)).toEqual([])
  expect(quoteProcess(fold(quoteDecider, []), orderId)).toEqual([])
})
