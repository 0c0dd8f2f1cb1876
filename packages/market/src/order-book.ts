import type { OfferFact, OfferTerms, SellerFact } from '@penstock/contracts/matching.ts'
import type { Promises } from '@penstock/contracts/shapes.ts'
import { evolveFundedReservations, type FundedReservations, sumFundedSat } from './funded-reservations.ts'
import { type ScoreEvidence, noEvidence, computeScore, addOutcome } from './score.ts'

/** A fact with its stream and time, in the form of the runtime's events. */
export type BookEvent = {
  readonly category: string
  readonly aggregateId: string
  readonly at: number
  readonly fact: { readonly type: string; readonly data: object }
}

export type SellerEntry = {
  readonly pubkey: string
  /** Whether the seller's agent sent a heartbeat within the window. */
  readonly live: boolean
  /** The confirmed coins in the node's latest attestation. */
  readonly fundsSat: bigint
  /** The sum of the reservations of all offers of the seller. */
  readonly reservedSat: bigint
  /** The part of `reservedSat` whose coins `fundsSat` no longer contains; see `sumFundedSat`. */
  readonly fundedSat: bigint
  readonly granted: boolean
  readonly rails: boolean
  readonly score: number
  readonly evidence: ScoreEvidence
}

export type BookEntry = {
  readonly offerId: string
  readonly accountId: string
  readonly status: 'ENABLED' | 'DISABLED' | 'ADMIN_DISABLED'
  readonly totalSizeSat: bigint
  readonly minSizeSat: bigint
  readonly maxSizeSat: bigint
  readonly promises: Promises
  readonly conditions: OfferTerms['conditions']
  readonly assetId: string | null
  readonly autoAccept: boolean
  readonly reservedSat: bigint
  readonly usedSat: bigint
  readonly availableSat: bigint
  readonly createdAt: number
  readonly seller: SellerEntry
}

type OfferRow = {
  readonly accountId: string
  readonly pubkey: string
  readonly createdAt: number
  terms: OfferTerms
  status: BookEntry['status']
  reservedSat: bigint
  usedSat: bigint
}
type SellerRow = {
  live: boolean
  fundsSat: bigint
  attestedAt: number
  reservedSat: bigint
  /** Of all offers of the seller. */
  funded: FundedReservations
  granted: boolean
  evidence: ScoreEvidence
}

export type OrderBook = {
  /** Applies a fact. It ignores facts of other categories than offer and seller. */
  readonly apply: (event: BookEvent) => void
  /** Every offer, oldest first. @param now milliseconds since 1970, because scores decay */
  readonly entries: (now: number, railsScore: number) => readonly BookEntry[]
  readonly entry: (offerId: string, now: number, railsScore: number) => BookEntry | undefined
  readonly seller: (pubkey: string, now: number, railsScore: number) => SellerEntry | undefined
  /** Whether an attestation of unchanged funds at this time shows that fundings have spent coins. */
  readonly awaitsAttestation: (pubkey: string, at: number) => boolean
  /** Public keys of the live sellers' nodes. */
  readonly liveSellers: () => readonly string[]
}

const isOfRails = ({ granted, live, score }: Pick<SellerEntry, 'granted' | 'live' | 'score'>, railsScore: number): boolean =>
  granted || (live && score >= railsScore)

/** The offer as it will be once its seller attests again. */
export function asLive(entry: BookEntry, railsScore: number): BookEntry {
  const seller = { ...entry.seller, live: true }
  return { ...entry, seller: { ...seller, rails: isOfRails(seller, railsScore) } }
}

/** Creates an order book in memory: a fold of the facts of offers and sellers, which can be rebuilt at any time. */
export function createOrderBook(): OrderBook {
  const offers = new Map<string, OfferRow>()
  const sellers = new Map<string, SellerRow>()

  const sellerRow = (pubkey: string): SellerRow => {
    const found = sellers.get(pubkey)
    if (found) return found
    const row = { live: false, fundsSat: 0n, attestedAt: 0, reservedSat: 0n, funded: {}, granted: false, evidence: noEvidence }
    sellers.set(pubkey, row)
    return row
  }
  const sellerEntry = (pubkey: string, row: SellerRow, now: number, railsScore: number): SellerEntry => {
    const { funded, attestedAt, ...rest } = row
    const score = computeScore(row.evidence, now)
    const rails = isOfRails({ ...row, score }, railsScore)
    return { pubkey, ...rest, fundedSat: sumFundedSat(funded, attestedAt), score, rails }
  }
  const entryOf = (offerId: string, row: OfferRow, now: number, railsScore: number): BookEntry => ({
    offerId,
    accountId: row.accountId,
    status: row.status,
    totalSizeSat: BigInt(row.terms.totalSizeSat),
    minSizeSat: BigInt(row.terms.minSizeSat),
    maxSizeSat: BigInt(row.terms.maxSizeSat),
    promises: row.terms.promises,
    conditions: row.terms.conditions,
    assetId: row.terms.assetId,
    autoAccept: row.terms.autoAccept,
    reservedSat: row.reservedSat,
    usedSat: row.usedSat,
    availableSat: BigInt(row.terms.totalSizeSat) - row.reservedSat - row.usedSat,
    createdAt: row.createdAt,
    seller: sellerEntry(row.pubkey, sellerRow(row.pubkey), now, railsScore),
  })

  return {
    apply: ({ category, aggregateId, at, fact }) => {
      // The runtime has upcast the facts to the current version of their contract.
      if (category === 'offer') applyOffer(offers, sellerRow, aggregateId, at, fact as OfferFact)
      else if (category === 'seller') applySeller(sellerRow(aggregateId), fact as SellerFact)
    },
    entries: (now, railsScore) => Array.from(offers, ([offerId, row]) => entryOf(offerId, row, now, railsScore)),
    entry: (offerId, now, railsScore) => {
      const row = offers.get(offerId)
      return row && entryOf(offerId, row, now, railsScore)
    },
    seller: (pubkey, now, railsScore) => {
      const row = sellers.get(pubkey)
      return row && sellerEntry(pubkey, row, now, railsScore)
    },
    awaitsAttestation: (pubkey, at) => {
      const row = sellers.get(pubkey)
      return row !== undefined && sumFundedSat(row.funded, at) > sumFundedSat(row.funded, row.attestedAt)
    },
    liveSellers: () => [...sellers].filter(([, { live }]) => live).map(([pubkey]) => pubkey),
  }
}

function applyOffer(
  offers: Map<string, OfferRow>,
  sellerRow: (pubkey: string) => SellerRow,
  offerId: string,
  at: number,
  fact: OfferFact,
): void {
  if (fact.type === 'OfferCreated') {
    const { accountId, pubkey, ...terms } = fact.data
    offers.set(offerId, { accountId, pubkey, createdAt: at, terms, status: 'ENABLED', reservedSat: 0n, usedSat: 0n })
    return
  }
  const row = offers.get(offerId)
  if (!row) return // The first fact of an offer is OfferCreated.
  const seller = sellerRow(row.pubkey)
  seller.funded = evolveFundedReservations(seller.funded, fact, at)
  const reserve = (sizeSat: bigint) => {
    row.reservedSat += sizeSat
    seller.reservedSat += sizeSat
  }
  switch (fact.type) {
    case 'OfferUpdated':
      row.terms = fact.data
      return
    case 'OfferEnabled':
    case 'OfferEnabledByAdmin':
      row.status = 'ENABLED'
      return
    case 'OfferDisabled':
      row.status = 'DISABLED'
      return
    case 'OfferDisabledByAdmin':
      row.status = 'ADMIN_DISABLED'
      return
    case 'CapacityReserved':
      return reserve(BigInt(fact.data.sizeSat))
    case 'ReservationReleased':
      return reserve(-BigInt(fact.data.sizeSat))
    case 'ReservationUsed':
      reserve(-BigInt(fact.data.sizeSat))
      row.usedSat += BigInt(fact.data.sizeSat)
      return
    case 'ReservationRefused':
    case 'ReservationFundingRecorded':
  }
}

function applySeller(row: SellerRow, fact: SellerFact): void {
  switch (fact.type) {
    case 'SellerAppeared':
    case 'FundsAttested':
      if (fact.type === 'SellerAppeared') row.live = true
      row.fundsSat = BigInt(fact.data.confirmedSat)
      row.attestedAt = fact.data.at
      return
    case 'SellerFellSilent':
      row.live = false
      return
    case 'OutcomeRecorded':
      row.evidence = addOutcome(row.evidence, fact.data.outcome, fact.data.at)
      return
    case 'RailsGranted':
      row.granted = true
      return
    case 'RailsGrantRevoked':
      row.granted = false
  }
}
