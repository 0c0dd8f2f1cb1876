import assert from 'node:assert/strict'
import type { OfferFact, SellerFact } from '@penstock/contracts/matching.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_CLOCK_DIFFERENCE_MS } from './funded-reservations.ts'
import { createOrderBook } from './order-book.ts'
import { maxCapacitySat } from './rank.ts'

const pubkey = `02${'a'.repeat(64)}`
const accountId = '00000000-0000-4000-8000-000000000001'
const offerId = '00000000-0000-4000-8000-00000000000a'
const candidate = {
  offerId,
  sellerPubkey: pubkey,
  sellerAccountId: accountId,
  rails: false,
  sellerAmountMsat: '1',
  promises: {
    baseFeeSat: '1',
    feeRatePpm: 1,
    baseFeeCapSat: '1',
    feeRateCapPpm: 1,
    minBlockLength: 4320,
    onchainPriority: 'LOW' as const,
    onchainMultiplier: 0,
  },
}
const terms = {
  totalSizeSat: '1000',
  minSizeSat: '10',
  maxSizeSat: '500',
  promises: candidate.promises,
  conditions: [],
  assetId: null,
  autoAccept: true,
}
const created: OfferFact = { type: 'OfferCreated', v: 2, data: { ...terms, accountId, pubkey } }
const reservation = (n: number) => ({ orderId: `00000000-0000-4000-8000-${`${n}`.padStart(12, '0')}`, attempt: 1, round: 0 })
const admin = { by: 'operator', reason: 'because' }

/** The time of each fact in our log. An attestation carries a time of its own. */
const RECORDED_AT = 5
/** The first time at which an attestation cannot be older than a fact in our log. */
const AFTER_RECORDED = RECORDED_AT + MAX_CLOCK_DIFFERENCE_MS + 1

const open = (...facts: readonly (OfferFact | SellerFact)[]) => {
  const book = createOrderBook()
  for (const fact of facts) {
    const isOffer = /^(Offer|Capacity|Reservation)/.test(fact.type)
    book.apply({ category: isOffer ? 'offer' : 'seller', aggregateId: isOffer ? offerId : pubkey, at: RECORDED_AT, fact })
  }
  return book
}

test('an entry combines an offer with its seller', () => {
  const book = open(
    created,
    { type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat: '700', at: 1 } },
    { type: 'CapacityReserved', v: 1, data: { ...reservation(1), sizeSat: '100', candidate } },
    { type: 'CapacityReserved', v: 1, data: { ...reservation(2), sizeSat: '50', candidate } },
    { type: 'ReservationUsed', v: 1, data: { ...reservation(1), sizeSat: '100' } },
    { type: 'FundsAttested', v: 1, data: { confirmedSat: '600', at: 2 } },
  )
  expect(book.entry(offerId, 10, 0.95)).toMatchObject({
    status: 'ENABLED',
    reservedSat: 50n,
    usedSat: 100n,
    availableSat: 850n,
    createdAt: 5,
    seller: { pubkey, live: true, fundsSat: 600n, reservedSat: 50n, rails: false, score: 0.5 },
  })
  expect(book.liveSellers()).toEqual([pubkey])
  expect(open(created).liveSellers()).toEqual([])
})

const funding = (n: number, seen: boolean): OfferFact => ({
  type: 'ReservationFundingRecorded',
  v: 1,
  data: { ...reservation(n), sizeSat: '400', seen },
})

test('a seller with coins for two channels sells two, once the network has the funding of the first', () => {
  const facts: (OfferFact | SellerFact)[] = [
    created,
    { type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat: '800', at: 1 } },
    { type: 'CapacityReserved', v: 1, data: { ...reservation(1), sizeSat: '400', candidate } },
    { type: 'FundsAttested', v: 1, data: { confirmedSat: '400', at: AFTER_RECORDED } },
  ]
  const most = (...more: OfferFact[]) => {
    const entry = open(...facts, ...more).entry(offerId, 0, 1)
    return entry && maxCapacitySat(entry, { newSellerCapSat: 0n })
  }
  const released: OfferFact = { type: 'ReservationReleased', v: 1, data: { ...reservation(1), sizeSat: '400', reason: 'over' } }
  const used: OfferFact = { type: 'ReservationUsed', v: 1, data: { ...reservation(1), sizeSat: '400' } }
  expect(most()).toBe(0n)
  expect(most(funding(1, true))).toBe(400n)
  expect(most(funding(1, true), funding(1, false))).toBe(0n)
  expect(most(funding(1, true), released)).toBe(400n)
  expect(most(funding(1, true), used)).toBe(400n)
  // The second channel takes the rest of the coins, and the total still contains the first.
  const second: OfferFact = { type: 'CapacityReserved', v: 1, data: { ...reservation(2), sizeSat: '400', candidate } }
  expect(most(funding(1, true), second)).toBe(0n)
  expect(open(...facts, funding(1, true), second).entry(offerId, 0, 1)?.availableSat).toBe(200n)
})

test('funds that may have been attested before a funding still contain its coins', () => {
  const appeared: SellerFact = { type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat: '800', at: 1 } }
  const reserved: OfferFact = { type: 'CapacityReserved', v: 1, data: { ...reservation(1), sizeSat: '400', candidate } }
  const bookAfter = (...attestedAt: number[]) =>
    open(
      created,
      appeared,
      reserved,
      funding(1, true),
      ...attestedAt.map((at): SellerFact => ({ type: 'FundsAttested', v: 1, data: { confirmedSat: '800', at } })),
    )
  const most = (...attestedAt: number[]) => {
    const entry = bookAfter(...attestedAt).entry(offerId, 0, 1)
    return entry && maxCapacitySat(entry, { newSellerCapSat: 0n })
  }
  expect(most()).toBe(400n)
  expect(most(AFTER_RECORDED - 1)).toBe(400n)
  expect(most(AFTER_RECORDED)).toBe(500n) // all that one order may have
  const awaits = (at: number, ...attestedAt: number[]) => bookAfter(...attestedAt).awaitsAttestation(pubkey, at)
  expect(awaits(AFTER_RECORDED - 1)).toBe(false)
  expect(awaits(AFTER_RECORDED)).toBe(true)
  expect(awaits(AFTER_RECORDED + 1, AFTER_RECORDED)).toBe(false)
  expect(createOrderBook().awaitsAttestation(pubkey, AFTER_RECORDED)).toBe(false)
})

test('statuses and terms follow the facts', () => {
  const status = (...facts: OfferFact[]) => open(created, ...facts).entry(offerId, 0, 1)?.status
  expect(status({ type: 'OfferDisabled', v: 1, data: {} })).toBe('DISABLED')
  expect(status({ type: 'OfferDisabled', v: 1, data: {} }, { type: 'OfferEnabled', v: 1, data: {} })).toBe('ENABLED')
  expect(status({ type: 'OfferDisabledByAdmin', v: 1, data: admin })).toBe('ADMIN_DISABLED')
  expect(status({ type: 'OfferDisabledByAdmin', v: 1, data: admin }, { type: 'OfferEnabledByAdmin', v: 1, data: admin })).toBe(
    'ENABLED',
  )
  expect(
    open(created, { type: 'OfferUpdated', v: 2, data: { ...terms, maxSizeSat: '40' } }).entry(offerId, 0, 1)?.maxSizeSat,
  ).toBe(40n)
  expect(open({ type: 'ReservationRefused', v: 1, data: { ...reservation(1), reason: 'none' } }).entries(0, 1)).toEqual([])
})

test('a seller is in the rails cluster by grant, or by score while its agent is live', () => {
  const rails = (railsScore: number, ...facts: SellerFact[]) => open(created, ...facts).seller(pubkey, 0, railsScore)?.rails
  const live: SellerFact = { type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat: '1', at: 1 } }
  const silent: SellerFact = { type: 'SellerFellSilent', v: 1, data: { lastSeenAt: 1 } }
  const granted: SellerFact = { type: 'RailsGranted', v: 1, data: admin }
  expect(rails(0.5, live)).toBe(true)
  expect(rails(0.5, live, silent)).toBe(false)
  expect(rails(0.9, live)).toBe(false)
  expect(rails(0.9, granted)).toBe(true)
  expect(rails(0.9, granted, { type: 'RailsGrantRevoked', v: 1, data: admin })).toBe(false)
  const outcome: SellerFact = { type: 'OutcomeRecorded', v: 1, data: { orderId: accountId, attempt: 1, outcome: 'valid', at: 0 } }
  expect(rails(0.6, live, outcome)).toBe(true)
})

test('the reserved, used and free sizes add up to the total', () => {
  const moves = fc.array(fc.tuple(fc.nat(9), fc.constantFrom('reserve', 'fund', 'release', 'use')), { maxLength: 60 })
  fc.assert(
    fc.property(moves, (history) => {
      const book = open(created, { type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat: '800', at: AFTER_RECORDED } })
      const [held, funded] = [new Set<number>(), new Set<number>()]
      for (const [n, move] of history) {
        if ((move === 'reserve') === held.has(n)) continue
        const data = { ...reservation(n), sizeSat: '10' }
        if (move === 'fund') {
          const fact: OfferFact = { type: 'ReservationFundingRecorded', v: 1, data: { ...data, seen: true } }
          book.apply({ category: 'offer', aggregateId: offerId, at: 0, fact })
          funded.add(n)
          continue
        }
        const fact: OfferFact =
          move === 'reserve'
            ? { type: 'CapacityReserved', v: 1, data: { ...data, candidate } }
            : move === 'use'
              ? { type: 'ReservationUsed', v: 1, data }
              : { type: 'ReservationReleased', v: 1, data: { ...data, reason: 'over' } }
        book.apply({ category: 'offer', aggregateId: offerId, at: 0, fact })
        if (move === 'reserve') held.add(n)
        else for (const one of [held, funded]) one.delete(n)
      }
      const entry = book.entry(offerId, 0, 1)
      assert.ok(entry)
      assert.equal(entry.reservedSat, BigInt(held.size) * 10n)
      assert.equal(entry.seller.reservedSat, entry.reservedSat)
      assert.equal(entry.seller.fundedSat, BigInt(funded.size) * 10n)
      assert.equal(entry.availableSat + entry.reservedSat + entry.usedSat, entry.totalSizeSat)
    }),
  )
})
