import type { MatchCommand } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import type { BookEntry } from '@penstock/market/book.ts'
import { candidateOf, forSize, mostSat, type Pricing, serves } from '@penstock/market/rank.ts'

type Wanted = Extract<MatchCommand, { readonly type: 'FindSeller' }>['data']

/** Enough to get past a few that are sold out meanwhile, few enough to keep the fact small. */
const MOST_CANDIDATES = 8

/**
 * Whom to ask, best first: the seller that the buyer was shown, at the price of then, then everybody who does it for the
 * same budget. A seller that was tried is not tried again, at no other offer of its either, nor at another node of its
 * account: what it says late of its first turn, by its account, would be taken for a word about the second.
 */
export function searchFor(
  { need, first, only, tried }: Wanted,
  entries: readonly BookEntry[],
  pricing: Pricing,
  lastResort: readonly string[] = [],
): readonly Candidate[] {
  // A named offer was accepted by hand: its seller needs no live agent, and nobody else was agreed on.
  if (only) return tried.includes(first.offerId) ? [] : [first]
  if (need.assetId !== null) return []
  const known = entries.filter(({ offerId }) => tried.includes(offerId))
  const triedNodes = new Set(known.map(({ seller }) => seller.pubkey))
  const triedAccounts = new Set(known.map(({ accountId }) => accountId))
  const fresh = entries.filter(({ accountId, seller }) => !triedNodes.has(seller.pubkey) && !triedAccounts.has(accountId))
  const sizeSat = BigInt(need.sizeSat)
  const budgetMsat = BigInt(need.sellerBudgetMsat)
  const wish = { ...need, buyerPubkey: need.destination.pubkey, lastResort }

  const shown = fresh.find(({ offerId }) => offerId === first.offerId)
  // Its bounds and prices were those of the quote; only what it can do now counts.
  const shownServes =
    shown && serves(withLease(shown, first), wish) && mostSat({ ...shown, maxSizeSat: sizeSat }, pricing.settings) >= sizeSat
  const others = forSize(fresh, wish, sizeSat, need.ranking, pricing)
    .filter(({ entry, sellerAmountMsat }) => entry.offerId !== first.offerId && sellerAmountMsat <= budgetMsat)
    .map(candidateOf)
  return [...(shownServes ? [{ ...first, rails: shown.seller.rails }] : []), ...others].slice(0, MOST_CANDIDATES)
}

/** The offer with the promises that the buyer was shown. */
const withLease = (entry: BookEntry, { promises }: Candidate): BookEntry => ({ ...entry, promises })
