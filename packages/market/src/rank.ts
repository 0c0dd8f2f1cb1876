import type { OrderRequirements } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { MSAT_PER_SAT, satToMsat } from '@penstock/kernel/money.ts'
import type { BookEntry } from './order-book.ts'
import { type Cost, computeCost, type FundingFeesByPriority, findLargestWithin, type MarketSettings } from './price.ts'
import { countValidSales } from './score.ts'

/** Requirements of an order for its seller, apart from the size. */
export type SellerRequirements = {
  readonly buyerPubkey: string | null
  readonly isPrivate: boolean
  readonly railsOnly: boolean
  readonly leaseBlocks: number
  /** Public keys of the only nodes that may serve; null: any node. */
  readonly sellers: readonly string[] | null
  /** Public keys of nodes that serve only if no other node can; see `findSellersWithChannel`. */
  readonly lastResort?: readonly string[]
}

/** The inputs of a price besides the offer. */
export type Pricing = { readonly settings: MarketSettings; readonly fees: FundingFeesByPriority | null }

/** An offer with the size that it would sell and the price. */
export type RankedOffer = Cost & { readonly entry: BookEntry; readonly sizeSat: bigint }

/**
 * Whether an offer accepts this order automatically. An offer with conditions does not, because their check would need data
 * about the buyer's node.
 */
export const canServe = (entry: BookEntry, requirements: SellerRequirements): boolean =>
  entry.status === 'ENABLED' &&
  entry.autoAccept &&
  entry.seller.live &&
  entry.assetId === null &&
  entry.conditions.length === 0 &&
  entry.promises.minBlockLength >= requirements.leaseBlocks &&
  entry.seller.pubkey !== requirements.buyerPubkey &&
  (entry.seller.rails || !(requirements.isPrivate || requirements.railsOnly)) &&
  (requirements.sellers?.includes(entry.seller.pubkey) ?? true)

/** Whether any offer's price depends on the current funding fee. */
export const hasFundingCharge = (entries: readonly BookEntry[]): boolean =>
  entries.some(({ promises }) => promises.onchainMultiplier > 0)

/**
 * The largest capacity that an offer sells now: its bounds, its free size and its seller's unreserved funds limit it. Coins that
 * the attested funds no longer contain are not subtracted a second time.
 */
export function maxCapacitySat(entry: BookEntry, { newSellerCapSat }: Pick<MarketSettings, 'newSellerCapSat'>): bigint {
  const { fundsSat, reservedSat, fundedSat } = entry.seller
  const bounds = [entry.maxSizeSat, entry.availableSat, fundsSat - (reservedSat - fundedSat)]
  if (newSellerCapSat > 0n && countValidSales(entry.seller.evidence) === 0) bounds.push(newSellerCapSat - reservedSat)
  return bounds.reduce((least, bound) => (bound < least ? bound : least))
}

/** The size that a budget buys. 'below': less than the offer's least size. 'beyond': the largest size leaves 1 sat or more. */
export function priceAtBudget(
  entry: BookEntry,
  budgetSat: bigint,
  pricing: Pricing,
): RankedOffer | 'below' | 'beyond' | undefined {
  const { promises } = entry
  if (!computeCost(promises, 0n, pricing.fees, pricing.settings)) return undefined
  const budgetMsat = satToMsat(budgetSat)
  const costMsat = (sizeSat: bigint): bigint => {
    const cost = computeCost(promises, sizeSat, pricing.fees, pricing.settings)
    return cost ? cost.sellerAmountMsat + cost.platformFeeMsat : 0n // The check above ensures a cost.
  }
  const maxSat = maxCapacitySat(entry, pricing.settings)
  if (maxSat < entry.minSizeSat) return undefined
  const sizeSat = findLargestWithin(budgetMsat, maxSat, costMsat)
  if (sizeSat === undefined || sizeSat < entry.minSizeSat) return 'below'
  const leftMsat = budgetMsat - costMsat(sizeSat)
  if (leftMsat >= MSAT_PER_SAT && sizeSat === maxSat) return 'beyond'
  const cost = computeCost(promises, sizeSat, pricing.fees, pricing.settings)
  if (!cost) return undefined
  // A further satoshi of capacity can cost more than the rest of the budget. Whole satoshis of the rest go to the platform.
  const roundingMsat = leftMsat % MSAT_PER_SAT
  return {
    ...cost,
    platformFeeMsat: cost.platformFeeMsat + leftMsat - roundingMsat,
    entry,
    sizeSat,
    priceSat: budgetSat,
    roundingMsat,
  }
}

/** The price of a size at an offer; undefined if the offer does not sell that size. */
export function priceAtSize(entry: BookEntry, sizeSat: bigint, pricing: Pricing): RankedOffer | undefined {
  if (sizeSat < entry.minSizeSat || sizeSat > maxCapacitySat(entry, pricing.settings)) return undefined
  const cost = computeCost(entry.promises, sizeSat, pricing.fees, pricing.settings)
  return cost && { ...cost, entry, sizeSat }
}

/** Offers that sell for exactly this budget: most capacity per satoshi first, ties by score. */
export const rankForBudget = (
  entries: readonly BookEntry[],
  requirements: SellerRequirements,
  budgetSat: bigint,
  pricing: Pricing,
): readonly RankedOffer[] =>
  moveLastResortToEnd(
    requirements,
    entries
      .filter((entry) => canServe(entry, requirements))
      .map((entry) => priceAtBudget(entry, budgetSat, pricing))
      .filter((ranked) => typeof ranked === 'object')
      .toSorted((a, b) => compareDescending(a.sizeSat, b.sizeSat) || compareScores(a, b)),
  )

/** Offers that sell this capacity, best first. */
export const rankForSize = (
  entries: readonly BookEntry[],
  requirements: SellerRequirements,
  sizeSat: bigint,
  ranking: OrderRequirements['ranking'],
  pricing: Pricing,
): readonly RankedOffer[] =>
  moveLastResortToEnd(
    requirements,
    sortByRanking(
      entries.filter((entry) => canServe(entry, requirements)).flatMap((entry) => priceAtSize(entry, sizeSat, pricing) ?? []),
      ranking,
    ),
  )

function moveLastResortToEnd({ lastResort = [] }: SellerRequirements, ranked: readonly RankedOffer[]): readonly RankedOffer[] {
  const isLast = ({ entry }: RankedOffer): boolean => lastResort.includes(entry.seller.pubkey)
  return [...ranked.filter((one) => !isLast(one)), ...ranked.filter(isLast)]
}

/** Offers at one size: 'cheapest' by price, ties by score; 'recommended' by score, ties by price. */
export const sortByRanking = (ranked: readonly RankedOffer[], ranking: OrderRequirements['ranking']): readonly RankedOffer[] =>
  ranked.toSorted((a, b) =>
    ranking === 'cheapest' ? comparePrices(a, b) || compareScores(a, b) : compareScores(a, b, comparePrices(a, b)),
  )

export const toCandidate = ({ entry, sellerAmountMsat }: RankedOffer): Candidate => ({
  offerId: entry.offerId,
  sellerPubkey: entry.seller.pubkey,
  sellerAccountId: entry.accountId,
  rails: entry.seller.rails,
  sellerAmountMsat: `${sellerAmountMsat}`,
  promises: entry.promises,
})

const compareDescending = (a: bigint, b: bigint): number => (a === b ? 0 : a > b ? -1 : 1)
/** Compares to the msat, since whole satoshis would hide differences. */
const comparePrices = (a: RankedOffer, b: RankedOffer): number => compareDescending(b.sellerAmountMsat, a.sellerAmountMsat)
/** The offer's id breaks the last ties, so that every process gets the same ranking. */
const compareScores = (a: RankedOffer, b: RankedOffer, tie = 0): number =>
  b.entry.seller.score - a.entry.seller.score || tie || (a.entry.offerId < b.entry.offerId ? -1 : 1)
