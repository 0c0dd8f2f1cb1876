import type { Need } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import type { BookEntry } from '@penstock/market/book.ts'
import type { Pricing } from '@penstock/market/rank.ts'
import { bookEntry, pubkey, uuid } from '@penstock/testkit/book.ts'
import { expect, test } from 'vitest'
import { searchFor } from './search.ts'

const pricing: Pricing = {
  settings: { platformFeePpm: 500, platformFeeMinSat: 100n, newSellerCapSat: 0n, railsScore: 1 },
  fees: null,
}

const promises = {
  baseFeeSat: '0',
  feeRatePpm: 2000,
  baseFeeCapSat: '1',
  feeRateCapPpm: 1,
  minBlockLength: 5000,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 0,
}
const entry = (n: number, feeRatePpm = 2000, over: Partial<BookEntry> = {}, seller: Partial<BookEntry['seller']> = {}) =>
  bookEntry(n, { ...promises, feeRatePpm }, over, seller)
const candidate = (n: number, sellerAmountMsat = '2000000'): Candidate => ({
  offerId: uuid(n),
  sellerPubkey: pubkey(n),
  sellerAccountId: uuid(n),
  rails: false,
  sellerAmountMsat,
  promises,
})
const need: Need = {
  sizeSat: '1000000',
  destination: { pubkey: pubkey(50), sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  leaseBlocks: 4320,
  sellerBudgetMsat: '2500000',
  ranking: 'cheapest',
}
const search = (entries: readonly BookEntry[], over: Partial<Parameters<typeof searchFor>[0]> = {}) =>
  searchFor({ attempt: 1, need, first: candidate(1), only: false, tried: [], ...over }, entries, pricing)
const ids = (found: readonly Candidate[]) => found.map(({ offerId }) => Number(offerId.slice(-2)))

test('the seller that was shown comes first, then who is cheapest within the budget', () => {
  const book = [entry(1, 2400), entry(2, 2300), entry(3, 2100), entry(4, 2501)]
  expect(ids(search(book))).toEqual([1, 3, 2])
  expect(search(book)[0]).toEqual(candidate(1)) // at the price of the quote
  expect(ids(search(book, { need: { ...need, sellerBudgetMsat: '2600000' } }))).toEqual([1, 3, 2, 4])
})

test('the shown one is asked though its bounds and promises changed, and passed over when it cannot serve', () => {
  const first = (over: Partial<BookEntry>, seller = {}) => ids(search([entry(1, 9000, over, seller)]))
  expect(first({ maxSizeSat: 200_000n })).toEqual([1])
  expect(first({ promises: { ...promises, minBlockLength: 1 } })).toEqual([1])
  expect(first({}, { live: false })).toEqual([])
  expect(first({ status: 'DISABLED' })).toEqual([])
  expect(first({ availableSat: 999_999n })).toEqual([])
  expect(first({}, { fundsSat: 999_999n })).toEqual([])
  expect(search([entry(1, 2000, {}, { rails: true })])[0]?.rails).toBe(true)
})

test('who was tried is not tried again, at another offer neither', () => {
  const twice = entry(3, 2000, {}, { pubkey: pubkey(1) })
  expect(ids(search([entry(1), entry(2), twice], { attempt: 2, tried: [uuid(1)] }))).toEqual([2])
})

test('nor at another node of its account', () => {
  const other = entry(3, 2000, { accountId: uuid(1) })
  expect(ids(search([entry(1), other, entry(2)]))).toEqual([1, 2, 3])
  expect(ids(search([entry(1), other, entry(2)], { attempt: 2, tried: [uuid(1)] }))).toEqual([2])
})

test('private and rails orders go to rails sellers', () => {
  const book = [entry(1), entry(2, 2000, {}, { rails: true })]
  expect(ids(search(book, { need: { ...need, isPrivate: true } }))).toEqual([2])
  expect(ids(search(book, { need: { ...need, railsOnly: true } }))).toEqual([2])
})

test('a named offer is the only one, once', () => {
  expect(ids(search([entry(2)], { only: true }))).toEqual([1])
  expect(search([entry(2)], { only: true, attempt: 2, tried: [uuid(1)] })).toEqual([])
  expect(search([entry(1)], { need: { ...need, assetId: 'usd' } })).toEqual([])
})

test('an order of a wallet that is connected to some sellers only goes to no other', () => {
  expect(ids(search([entry(1), entry(2), entry(3)], { need: { ...need, sellers: [pubkey(2)] } }))).toEqual([2])
})

test('a seller whose private channel could not be told apart comes last', () => {
  const book = [entry(2, 2000, {}, { rails: true }), entry(3, 2400, {}, { rails: true })]
  const wanted = { attempt: 1, need: { ...need, isPrivate: true }, first: candidate(1), only: false, tried: [] }
  expect(ids(searchFor(wanted, book, pricing, [pubkey(2)]))).toEqual([3, 2])
})
