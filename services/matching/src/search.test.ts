import type { OrderRequirements } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import type { BookEntry } from '@penstock/market/order-book.ts'
import type { Pricing } from '@penstock/market/rank.ts'
import { createBookEntry, pubkeyFor, uuidFor } from '@penstock/testkit/book-entries.ts'
import { expect, test } from 'vitest'
import { promises } from './matching.fixture.ts'
import { searchFor } from './search.ts'

const pricing: Pricing = {
  settings: { platformFeePpm: 500, platformFeeMinSat: 100n, newSellerCapSat: 0n, railsScore: 1 },
  fees: null,
}

const entry = (n: number, feeRatePpm = 2000, over: Partial<BookEntry> = {}, seller: Partial<BookEntry['seller']> = {}) =>
  createBookEntry(n, { ...promises, feeRatePpm }, over, seller)
const candidate = (n: number, sellerAmountMsat = '2000000'): Candidate => ({
  offerId: uuidFor(n),
  sellerPubkey: pubkeyFor(n),
  sellerAccountId: uuidFor(n),
  rails: false,
  sellerAmountMsat,
  promises,
})
const need: OrderRequirements = {
  sizeSat: '1000000',
  destination: { pubkey: pubkeyFor(50), sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  leaseBlocks: 4320,
  sellerBudgetMsat: '2500000',
  ranking: 'cheapest',
}
/** Searches for an order whose buyer saw the candidate `first`. `only`: the order is manual, and no other offer may serve it. */
const search = (entries: readonly BookEntry[], over: Partial<Parameters<typeof searchFor>[0]> = {}) =>
  searchFor({ attempt: 1, need, first: candidate(1), only: false, autoAccepted: true, tried: [], ...over }, entries, pricing)
const ids = (found: readonly Candidate[]) => found.map(({ offerId }) => Number(offerId.slice(-2)))

test('the quoted seller comes first, then the cheapest sellers within the budget', () => {
  const book = [entry(1, 2400), entry(2, 2300), entry(3, 2100), entry(4, 2501)]
  expect(ids(search(book))).toEqual([1, 3, 2])
  expect(search(book)[0]).toEqual(candidate(1)) // at the price of the quote
  expect(ids(search(book, { need: { ...need, sellerBudgetMsat: '2600000' } }))).toEqual([1, 3, 2, 4])
})

test('the quoted seller is kept although its bounds or promises changed, but not if it cannot serve', () => {
  const first = (over: Partial<BookEntry>, seller = {}) => ids(search([entry(1, 9000, over, seller)]))
  expect(first({ maxSizeSat: 200_000n })).toEqual([1])
  expect(first({ promises: { ...promises, minBlockLength: 1 } })).toEqual([1])
  expect(first({}, { live: false })).toEqual([])
  expect(first({ status: 'DISABLED' })).toEqual([])
  expect(first({ availableSat: 999_999n })).toEqual([])
  expect(first({}, { fundsSat: 999_999n })).toEqual([])
  expect(search([entry(1, 2000, {}, { rails: true })])[0]?.rails).toBe(true)
})

test('a seller that was tried is not tried again at another of its offers', () => {
  const twice = entry(3, 2000, {}, { pubkey: pubkeyFor(1) })
  expect(ids(search([entry(1), entry(2), twice], { attempt: 2, tried: [uuidFor(1)] }))).toEqual([2])
})

test('a seller that was tried is not tried again at another node of its account', () => {
  const other = entry(3, 2000, { accountId: uuidFor(1) })
  expect(ids(search([entry(1), other, entry(2)]))).toEqual([1, 2, 3])
  expect(ids(search([entry(1), other, entry(2)], { attempt: 2, tried: [uuidFor(1)] }))).toEqual([2])
})

test('private and rails orders go to rails sellers', () => {
  const book = [entry(1), entry(2, 2000, {}, { rails: true })]
  expect(ids(search(book, { need: { ...need, isPrivate: true } }))).toEqual([2])
  expect(ids(search(book, { need: { ...need, railsOnly: true } }))).toEqual([2])
})

test('a manual order tries only its own offer, and only once', () => {
  // The buyer placed the order on one offer, and its seller has accepted the order manually.
  const approved = { only: true, autoAccepted: false }
  expect(ids(search([entry(2)], approved))).toEqual([1])
  expect(search([entry(2)], { ...approved, attempt: 2, tried: [uuidFor(1)] })).toEqual([])
  expect(search([entry(1)], { need: { ...need, assetId: 'usd' } })).toEqual([])
})

test('a manual order that its offer accepts automatically goes to this offer only if it can serve now', () => {
  const find = (over: Partial<BookEntry>, seller = {}, request = {}) =>
    ids(search([entry(1, 2000, over, seller), entry(2)], { only: true, autoAccepted: true, ...request }))
  expect(find({})).toEqual([1])
  expect(find({}, { live: false })).toEqual([])
  expect(find({}, { fundsSat: 999_999n })).toEqual([])
  expect(find({ availableSat: 999_999n })).toEqual([])
  expect(find({}, {}, { attempt: 2, tried: [uuidFor(1)] })).toEqual([])
})

test('an order of a wallet that is connected to some sellers goes only to those', () => {
  expect(ids(search([entry(1), entry(2), entry(3)], { need: { ...need, sellers: [pubkeyFor(2)] } }))).toEqual([2])
})

test('a seller that already has a channel with the buyer comes last for a private order', () => {
  const book = [entry(2, 2000, {}, { rails: true }), entry(3, 2400, {}, { rails: true })]
  const request = {
    attempt: 1,
    need: { ...need, isPrivate: true },
    first: candidate(1),
    only: false,
    autoAccepted: true,
    tried: [],
  }
  expect(ids(searchFor(request, book, pricing, [pubkeyFor(2)]))).toEqual([3, 2])
})
