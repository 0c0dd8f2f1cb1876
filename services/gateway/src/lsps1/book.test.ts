import { createOrderBook } from '@penstock/market/order-book.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '@penstock/market/funded-reservations.ts'
import { maxCapacitySat } from '@penstock/market/rank.ts'
import { createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, NOW, openGatewayHarness, type FactInput } from '../gateway-harness.fixture.ts'
import { readBookEntries } from './book.ts'

const candidate = createCandidate(1)
const makeOfferId = (digit: number) => `10000000-0000-4000-8000-00000000000${digit}`
const created = {
  type: 'OfferCreated',
  data: {
    accountId: candidate.sellerAccountId,
    pubkey: candidate.sellerPubkey,
    totalSizeSat: '10000000',
    minSizeSat: '20000',
    maxSizeSat: '10000000',
    promises: createOrderTerms().candidate.promises,
    conditions: [],
    assetId: null,
    autoAccept: true,
  },
}
const reserved = {
  type: 'CapacityReserved',
  data: { orderId: 'o', attempt: 1, round: 0, sizeSat: '8000000', candidate },
}

let market: GatewayHarness
/** The order book of matching and quote, with the same facts. */
let marketBook: ReturnType<typeof createOrderBook>
beforeEach(async () => {
  market = await openGatewayHarness()
  marketBook = createOrderBook()
})
afterEach(() => market.close())

const projectInBoth = async (category: string, aggregateId: string, facts: readonly FactInput[]): Promise<void> => {
  await market.projectFacts(category, aggregateId, facts)
  for (const fact of facts) marketBook.apply({ category, aggregateId, at: NOW, fact })
}

test('a reservation at a disabled offer counts against the other offers of its seller', async () => {
  const appeared = { accountId: candidate.sellerAccountId, confirmedSat: '10000000', at: 1 }
  await projectInBoth('seller', candidate.sellerPubkey, [{ type: 'SellerAppeared', data: appeared }])
  await projectInBoth('offer', makeOfferId(1), [created, reserved, { type: 'OfferDisabled', data: {} }])
  await projectInBoth('offer', makeOfferId(2), [created])
  const [entry, ...more] = await readBookEntries(market.gateway)
  assert.ok(entry)
  assert.deepEqual([entry.offerId, more], [makeOfferId(2), []])
  const marketEntry = marketBook.entry(makeOfferId(2), 1, market.gateway.config.railsScore) ?? assert.fail()
  assert.equal(entry.seller.reservedSat, marketEntry.seller.reservedSat)
  const settings = { ...market.gateway.config, newSellerCapSat: 0n }
  assert.equal(maxCapacitySat(entry, settings), maxCapacitySat(marketEntry, settings))
  assert.equal(maxCapacitySat(entry, settings), 2_000_000n)
})

test('coins that the funding of a reserved channel has spent are not subtracted a second time', async () => {
  const attested = (at: number) => ({ type: 'FundsAttested', data: { confirmedSat: '2000000', at } })
  const appeared = { accountId: candidate.sellerAccountId, confirmedSat: '2000000', at: 1 }
  const seen = {
    type: 'ReservationFundingRecorded',
    data: { orderId: 'o', attempt: 1, round: 0, sizeSat: '8000000', seen: true },
  }
  await projectInBoth('seller', candidate.sellerPubkey, [{ type: 'SellerAppeared', data: appeared }])
  await projectInBoth('offer', makeOfferId(1), [created, reserved])
  await projectInBoth('offer', makeOfferId(2), [created])
  const settings = { ...market.gateway.config, newSellerCapSat: 0n }
  const mostAtSecond = async (): Promise<readonly (bigint | undefined)[]> => {
    const entries = [
      (await readBookEntries(market.gateway)).find(({ offerId }) => offerId === makeOfferId(2)),
      marketBook.entry(makeOfferId(2), 1, market.gateway.config.railsScore),
    ]
    return entries.map((entry) => entry && maxCapacitySat(entry, settings))
  }
  assert.deepEqual(await mostAtSecond(), [-6_000_000n, -6_000_000n])
  await projectInBoth('offer', makeOfferId(1), [seen])
  assert.deepEqual(await mostAtSecond(), [-6_000_000n, -6_000_000n])
  await projectInBoth('seller', candidate.sellerPubkey, [attested(NOW + MAX_CLOCK_DIFFERENCE_MS + 1)])
  assert.deepEqual(await mostAtSecond(), [2_000_000n, 2_000_000n])
})

test('a seller whose offers are all disabled is not in the book', async () => {
  await projectInBoth('offer', makeOfferId(1), [created, { type: 'OfferDisabled', data: {} }])
  assert.deepEqual(await readBookEntries(market.gateway), [])
})
