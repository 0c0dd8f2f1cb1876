import type { Need } from '@penstock/contracts/matching.ts'
import { centsToSat, SAT_PER_BTC } from '@penstock/kernel/money.ts'
import type { BookEntry } from './book.ts'
import { costOf } from './price.ts'
import { atSize, forBudget, inOrder, mostSat, type Pricing, type Ranked, serves, type Wish } from './rank.ts'

/** The least that `buy` sells for, in dollar cents. */
export const MIN_BUDGET_CENTS = 500n

/** LSPS1 names at most so many sellers at a time, since wallets connect to all of them. */
const LSP_SELLERS = 3

/** @returns what one dollar buys, made from what the smallest order would really get; undefined where nobody serves it */
export function perUsd(
  entries: readonly BookEntry[],
  leaseBlocks: number,
  centsPerBtc: bigint,
  pricing: Pricing,
): { readonly satsPerUsd: bigint; readonly usdPerUsd: string } | undefined {
  const [best] = forBudget(entries, openWish(leaseBlocks), centsToSat(MIN_BUDGET_CENTS, centsPerBtc), pricing)
  if (!best) return undefined
  const satsPerUsd = (best.sizeSat * 100n) / MIN_BUDGET_CENTS
  return { satsPerUsd, usdPerUsd: dollars((satsPerUsd * centsPerBtc) / SAT_PER_BTC) }
}

/** `12.05` of 1205 cents. */
export const dollars = (cents: bigint): string => `${cents / 100n}.${`${cents % 100n}`.padStart(2, '0')}`

/** What can be bought now from any of the offers, one at a time; prices are the least and the largest budget. */
export type Bounds = {
  readonly minSizeSat: bigint
  readonly maxSizeSat: bigint
  readonly minPriceSat: bigint
  readonly maxPriceSat: bigint
}

/** @returns undefined where no offer serves the wish at any size */
export function boundsOf(entries: readonly BookEntry[], wish: Wish, pricing: Pricing): Bounds | undefined {
  const priced = entries
    .filter((entry) => serves(entry, wish))
    .flatMap((entry) => {
      const least = atSize(entry, entry.minSizeSat, pricing)
      const most = atSize(entry, mostSat(entry, pricing.settings), pricing)
      return least && most ? [{ least, most }] : []
    })
  const [first, ...others] = priced
  if (!first) return undefined
  return others.reduce<Bounds>((bounds, { least, most }) => widen(bounds, least, most), widen(undefined, first.least, first.most))
}

/**
 * The sellers that LSPS1 names and orders from, for orders with this lease: the best by score, or the cheapest.
 * @returns node keys, best first
 */
export function lspSellers(
  entries: readonly BookEntry[],
  ranking: Need['ranking'],
  leaseBlocks: number,
  pricing: Pricing,
): readonly string[] {
  const able = entries.filter(
    (entry) => serves(entry, openWish(leaseBlocks)) && mostSat(entry, pricing.settings) >= entry.minSizeSat,
  )
  // One size for all, so that prices compare even where offers sell none in common.
  const sizeSat = able.reduce((size, { minSizeSat }) => larger(size, minSizeSat), 0n)
  const ranked = able.flatMap((entry) => {
    const cost = costOf(entry.promises, sizeSat, pricing.fees, pricing.settings)
    return cost ? [{ ...cost, entry, sizeSat }] : []
  })
  return [...new Set(inOrder(ranked, ranking).map(({ entry }) => entry.seller.pubkey))].slice(0, LSP_SELLERS)
}

/** Whoever asks what there is, and nothing special. */
const openWish = (leaseBlocks: number): Wish => ({
  buyerPubkey: null,
  isPrivate: false,
  railsOnly: false,
  leaseBlocks,
  sellers: null,
})

const widen = (bounds: Bounds | undefined, least: Ranked, most: Ranked): Bounds => ({
  minSizeSat: smaller(bounds?.minSizeSat, least.sizeSat),
  maxSizeSat: larger(bounds?.maxSizeSat, most.sizeSat),
  minPriceSat: smaller(bounds?.minPriceSat, least.priceSat),
  maxPriceSat: larger(bounds?.maxPriceSat, most.priceSat),
})
const smaller = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a < b ? a : b)
const larger = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a > b ? a : b)
