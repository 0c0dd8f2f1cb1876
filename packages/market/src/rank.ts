import type { Need } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { MSAT_PER_SAT, satToMsat } from '@penstock/kernel/money.ts'
import type { BookEntry } from './book.ts'
import { type Cost, costOf, type FundingFees, largestWithin, type MarketSettings } from './price.ts'
import { salesOf } from './score.ts'

/** What an order needs of its seller, whatever its size. */
export type Wish = {
  readonly buyerPubkey: string | null
  readonly isPrivate: boolean
  readonly railsOnly: boolean
  readonly leaseBlocks: number
  /** Keys of the only nodes that may serve; null: any. */
  readonly sellers: readonly string[] | null
  /** Keys of nodes that serve only where nobody else does: see `linkedSellers`. */
  readonly lastResort?: readonly string[]
}

/** What prices are made with. */
export type Pricing = { readonly settings: MarketSettings; readonly fees: FundingFees | null }

/** An offer with what it would sell, and for how much. */
export type Ranked = Cost & { readonly entry: BookEntry; readonly sizeSat: bigint }

/**
 * Whether an offer sells without being asked, and to this order. An offer with conditions never does: nothing here
 * knows the buyer's node well enough to check them.
 */
export const serves = (entry: BookEntry, wish: Wish): boolean =>
  entry.status === 'ENABLED' &&
  entry.autoAccept &&
  entry.seller.live &&
  entry.assetId === null &&
  entry.conditions.length === 0 &&
  entry.promises.minBlockLength >= wish.leaseBlocks &&
  entry.seller.pubkey !== wish.buyerPubkey &&
  (entry.seller.rails || !(wish.isPrivate || wish.railsOnly)) &&
  (wish.sellers?.includes(entry.seller.pubkey) ?? true)

/** Whether any offer's price hangs on what a funding costs now. */
export const chargesForFunding = (entries: readonly BookEntry[]): boolean =>
  entries.some(({ promises }) => promises.onchainMultiplier > 0)

/** The largest capacity that an offer sells now: within its bounds, what is free, and what its seller has shown to have. */
export function mostSat(entry: BookEntry, { newSellerCapSat }: MarketSettings): bigint {
  const bounds = [entry.maxSizeSat, entry.availableSat, entry.seller.fundsSat - entry.seller.reservedSat]
  if (newSellerCapSat > 0n && salesOf(entry.seller.evidence) === 0) bounds.push(newSellerCapSat - entry.seller.reservedSat)
  return bounds.reduce((least, bound) => (bound < least ? bound : least))
}

/** What a whole budget buys at an offer; 'beyond' where a satoshi or more would be left over. */
export function atBudget(entry: BookEntry, budgetSat: bigint, pricing: Pricing): Ranked | 'below' | 'beyond' | undefined {
  const { promises } = entry
  if (!costOf(promises, 0n, pricing.fees, pricing.settings)) return undefined
  const budgetMsat = satToMsat(budgetSat)
  const costMsat = (sizeSat: bigint): bigint => {
    const cost = costOf(promises, sizeSat, pricing.fees, pricing.settings)
    return cost ? cost.sellerAmountMsat + cost.platformFeeMsat : 0n // the fee is known: see above
  }
  const most = mostSat(entry, pricing.settings)
  if (most < entry.minSizeSat) return undefined
  const sizeSat = largestWithin(budgetMsat, most, costMsat)
  if (sizeSat === undefined || sizeSat < entry.minSizeSat) return 'below'
  const leftMsat = budgetMsat - costMsat(sizeSat)
  if (leftMsat >= MSAT_PER_SAT && sizeSat === most) return 'beyond'
  const cost = costOf(promises, sizeSat, pricing.fees, pricing.settings)
  if (!cost) return undefined
  // One satoshi of capacity more can cost a whole satoshi and a little: that satoshi goes to the platform.
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

/** What a size costs at an offer; undefined where it does not sell it. */
export function atSize(entry: BookEntry, sizeSat: bigint, pricing: Pricing): Ranked | undefined {
  if (sizeSat < entry.minSizeSat || sizeSat > mostSat(entry, pricing.settings)) return undefined
  const cost = costOf(entry.promises, sizeSat, pricing.fees, pricing.settings)
  return cost && { ...cost, entry, sizeSat }
}

/** Offers that sell for exactly this budget: most capacity per satoshi first, ties by score. */
export const forBudget = (entries: readonly BookEntry[], wish: Wish, budgetSat: bigint, pricing: Pricing): readonly Ranked[] =>
  lastResortLast(
    wish,
    entries
      .filter((entry) => serves(entry, wish))
      .map((entry) => atBudget(entry, budgetSat, pricing))
      .filter((ranked) => typeof ranked === 'object')
      .toSorted((a, b) => descending(a.sizeSat, b.sizeSat) || byScore(a, b)),
  )

/** Offers that sell this capacity, best first. */
export const forSize = (
  entries: readonly BookEntry[],
  wish: Wish,
  sizeSat: bigint,
  ranking: Need['ranking'],
  pricing: Pricing,
): readonly Ranked[] =>
  lastResortLast(
    wish,
    inOrder(
      entries.filter((entry) => serves(entry, wish)).flatMap((entry) => atSize(entry, sizeSat, pricing) ?? []),
      ranking,
    ),
  )

function lastResortLast({ lastResort = [] }: Wish, ranked: readonly Ranked[]): readonly Ranked[] {
  const isLast = ({ entry }: Ranked): boolean => lastResort.includes(entry.seller.pubkey)
  return [...ranked.filter((one) => !isLast(one)), ...ranked.filter(isLast)]
}

/** Offers at one size: 'cheapest' by price, ties by score; 'recommended' by score, ties by price. */
export const inOrder = (ranked: readonly Ranked[], ranking: Need['ranking']): readonly Ranked[] =>
  ranked.toSorted((a, b) => (ranking === 'cheapest' ? byPrice(a, b) || byScore(a, b) : byScore(a, b, byPrice(a, b))))

export const candidateOf = ({ entry, sellerAmountMsat }: Ranked): Candidate => ({
  offerId: entry.offerId,
  sellerPubkey: entry.seller.pubkey,
  sellerAccountId: entry.accountId,
  rails: entry.seller.rails,
  sellerAmountMsat: `${sellerAmountMsat}`,
  promises: entry.promises,
})

const descending = (a: bigint, b: bigint): number => (a === b ? 0 : a > b ? -1 : 1)
/** To the msat: prices in whole satoshis would make ties of what differs. */
const byPrice = (a: Ranked, b: Ranked): number => descending(b.sellerAmountMsat, a.sellerAmountMsat)
/** The offer's id comes last, so that everybody ranks alike. */
const byScore = (a: Ranked, b: Ranked, tie = 0): number =>
  b.entry.seller.score - a.entry.seller.score || tie || (a.entry.offerId < b.entry.offerId ? -1 : 1)
