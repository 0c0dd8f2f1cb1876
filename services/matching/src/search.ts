import type { MatchCommand } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import type { BookEntry } from '@penstock/market/order-book.ts'
import { toCandidate, rankForSize, maxCapacitySat, type Pricing, canServe } from '@penstock/market/rank.ts'

type SearchRequest = Extract<MatchCommand, { readonly type: 'FindSeller' }>['data']

/** Enough to replace a few offers that sell out meanwhile, and few enough to keep the fact small. */
const MAX_CANDIDATES = 8

/**
 * Ranks the candidates: first the quoted seller at its quoted price, then all sellers within the same budget. A tried seller is
 * not tried again, neither at another offer nor at another node of its account. Otherwise a late message of that account about
 * the first attempt would count for the second.
 */
export function searchFor(
  { need, first, only, autoAccepted, tried }: SearchRequest,
  entries: readonly BookEntry[],
  pricing: Pricing,
  lastResort: readonly string[] = [],
): readonly Candidate[] {
  // The seller has accepted the manual order itself, so it needs no live agent.
  if (only && !autoAccepted) return tried.includes(first.offerId) ? [] : [first]
  if (need.assetId !== null) return []
  const triedEntries = entries.filter(({ offerId }) => tried.includes(offerId))
  const triedNodes = new Set(triedEntries.map(({ seller }) => seller.pubkey))
  const triedAccounts = new Set(triedEntries.map(({ accountId }) => accountId))
  const untriedEntries = entries.filter(
    ({ accountId, seller }) => !triedNodes.has(seller.pubkey) && !triedAccounts.has(accountId),
  )
  const sizeSat = BigInt(need.sizeSat)
  const budgetMsat = BigInt(need.sellerBudgetMsat)
  const requirements = { ...need, buyerPubkey: need.destination.pubkey, lastResort }

  const quotedEntry = untriedEntries.find(({ offerId }) => offerId === first.offerId)
  // Bounds and price come from the quote. Status and available capacity come from the offer as it is now.
  const mayServeAsQuoted =
    quotedEntry &&
    canServe(withQuotedPromises(quotedEntry, first), requirements) &&
    maxCapacitySat({ ...quotedEntry, maxSizeSat: sizeSat }, pricing.settings) >= sizeSat
  const quoted = mayServeAsQuoted ? [{ ...first, rails: quotedEntry.seller.rails }] : []
  if (only) return quoted
  const others = rankForSize(untriedEntries, requirements, sizeSat, need.ranking, pricing)
    .filter(({ entry, sellerAmountMsat }) => entry.offerId !== first.offerId && sellerAmountMsat <= budgetMsat)
    .map(toCandidate)
  return [...quoted, ...others].slice(0, MAX_CANDIDATES)
}

/** The offer with the promises of the quote. */
const withQuotedPromises = (entry: BookEntry, { promises }: Candidate): BookEntry => ({ ...entry, promises })
