import { bookView } from '@penstock/market/book.ts'
import { mostSat } from '@penstock/market/rank.ts'
import { candidateOf, orderTermsOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type Stage, stage, type Told } from '../stage.contract.ts'
import { bookEntries } from './book.ts'

const candidate = candidateOf(1)
const offerOf = (digit: number) => `10000000-0000-4000-8000-00000000000${digit}`
const created = {
  type: 'OfferCreated',
  data: {
    accountId: candidate.sellerAccountId,
    pubkey: candidate.sellerPubkey,
    totalSizeSat: '10000000',
    minSizeSat: '20000',
    maxSizeSat: '10000000',
    promises: orderTermsOf().candidate.promises,
    conditions: [],
    assetId: null,
    autoAccept: true,
  },
}
const reserved = {
  type: 'CapacityReserved',
  data: { orderId: 'o', attempt: 1, round: 0, sizeSat: '8000000', candidate },
}

let market: Stage
/** The book of matching and quote, told the same. */
let theirs: ReturnType<typeof bookView>
beforeEach(async () => {
  market = await stage()
  theirs = bookView()
})
afterEach(() => market.close())

const happens = async (category: string, aggregateId: string, facts: readonly Told[]): Promise<void> => {
  await market.happens(category, aggregateId, facts)
  for (const fact of facts) theirs.apply({ category, aggregateId, at: 1, fact })
}

test('what is reserved at an offer that is disabled by now counts for the others of its seller', async () => {
  const appeared = { accountId: candidate.sellerAccountId, confirmedSat: '10000000', at: 1 }
  await happens('seller', candidate.sellerPubkey, [{ type: 'SellerAppeared', data: appeared }])
  await happens('offer', offerOf(1), [created, reserved, { type: 'OfferDisabled', data: {} }])
  await happens('offer', offerOf(2), [created])
  const [entry, ...more] = await bookEntries(market.gateway)
  assert.ok(entry)
  assert.deepEqual([entry.offerId, more], [offerOf(2), []])
  const their = theirs.entry(offerOf(2), 1, market.gateway.config.railsScore) ?? assert.fail()
  assert.equal(entry.seller.reservedSat, their.seller.reservedSat)
  const settings = { ...market.gateway.config, newSellerCapSat: 0n }
  assert.equal(mostSat(entry, settings), mostSat(their, settings))
  assert.equal(mostSat(entry, settings), 2_000_000n)
})

test('a seller whose offers are all disabled is not in the book', async () => {
  await happens('offer', offerOf(1), [created, { type: 'OfferDisabled', data: {} }])
  assert.deepEqual(await bookEntries(market.gateway), [])
})
