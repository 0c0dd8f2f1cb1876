import type { OrderRequirements } from '@penstock/contracts/matching.ts'
import { centsToSat, SAT_PER_BTC } from '@penstock/kernel/money.ts'
import type { BookEntry } from './order-book.ts'
import { computeCost } from './price.ts'
import {
  priceAtSize,
  rankForBudget,
  sortByRanking,
  maxCapacitySat,
  type Pricing,
  type RankedOffer,
  canServe,
  type SellerRequirements,
} from './rank.ts'

/** The smallest budget that `buy` accepts, in dollar cents. */
export const MIN_BUDGET_CENTS = 500n

/** The largest number of sellers that LSPS1 publishes, because wallets connect to all of them. */
const LSP_SELLERS = 3

/** @returns the capacity for one dollar, computed from the smallest order's real size; undefined if no offer serves it */
export function quotePerUsd(
  entries: readonly BookEntry[],
  leaseBlocks: number,
  centsPerBtc: bigint,
  pricing: Pricing,
): { readonly satsPerUsd: bigint; readonly usdPerUsd: string } | undefined {
  const [best] = rankForBudget(entries, anySeller(leaseBlocks), centsToSat(MIN_BUDGET_CENTS, centsPerBtc), pricing)
  if (!best) return undefined
  const satsPerUsd = (best.sizeSat * 100n) / MIN_BUDGET_CENTS
  return { satsPerUsd, usdPerUsd: formatUsd((satsPerUsd * centsPerBtc) / SAT_PER_BTC) }
}

/** Formats 1205 cents as `12.05`. */
export const formatUsd = (cents: bigint): string => `${cents / 100n}.${`${cents % 100n}`.padStart(2, '0')}`

/** The smallest and the largest size and price that any single offer sells now. */
export type PurchaseBounds = {
  readonly minSizeSat: bigint
  readonly maxSizeSat: bigint
  readonly minPriceSat: bigint
  readonly maxPriceSat: bigint
}

/** @returns undefined if no offer meets the requirements at any size */
export function computePurchaseBounds(
  entries: readonly BookEntry[],
  requirements: SellerRequirements,
  pricing: Pricing,
): PurchaseBounds | undefined {
  const priced = entries
    .filter((entry) => canServe(entry, requirements))
    .flatMap((entry) => {
      const least = priceAtSize(entry, entry.minSizeSat, pricing)
      const most = priceAtSize(entry, maxCapacitySat(entry, pricing.settings), pricing)
      return least && most ? [{ least, most }] : []
    })
  const [first, ...rest] = priced
  if (!first) return undefined
  return rest.reduce<PurchaseBounds>(
    (bounds, { least, most }) => widenBounds(bounds, least, most),
    widenBounds(undefined, first.least, first.most),
  )
}

/**
 * Selects the sellers that LSPS1 publishes, and to which its orders are limited: for this channel lease, the best by score
 * or the cheapest.
 * @returns node keys, best first
 */
export function selectLspSellers(
  entries: readonly BookEntry[],
  ranking: OrderRequirements['ranking'],
  leaseBlocks: number,
  pricing: Pricing,
): readonly string[] {
  const eligible = entries.filter(
    (entry) => canServe(entry, anySeller(leaseBlocks)) && maxCapacitySat(entry, pricing.settings) >= entry.minSizeSat,
  )
  // All offers are priced at one size, so that their prices are comparable even if the offers have no size in common.
  const sizeSat = eligible.reduce((size, { minSizeSat }) => maxOf(size, minSizeSat), 0n)
  const ranked = eligible.flatMap((entry) => {
    const cost = computeCost(entry.promises, sizeSat, pricing.fees, pricing.settings)
    return cost ? [{ ...cost, entry, sizeSat }] : []
  })
  return [...new Set(sortByRanking(ranked, ranking).map(({ entry }) => entry.seller.pubkey))].slice(0, LSP_SELLERS)
}

/** Requirements that limit only the lease. */
const anySeller = (leaseBlocks: number): SellerRequirements => ({
  buyerPubkey: null,
  isPrivate: false,
  railsOnly: false,
  leaseBlocks,
  sellers: null,
})

const widenBounds = (bounds: PurchaseBounds | undefined, least: RankedOffer, most: RankedOffer): PurchaseBounds => ({
  minSizeSat: minOf(bounds?.minSizeSat, least.sizeSat),
  maxSizeSat: maxOf(bounds?.maxSizeSat, most.sizeSat),
  minPriceSat: minOf(bounds?.minPriceSat, least.priceSat),
  maxPriceSat: maxOf(bounds?.maxPriceSat, most.priceSat),
})
const minOf = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a < b ? a : b)
const maxOf = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a > b ? a : b)
