import type { QuoteCommand, QuoteRefusal } from '@penstock/contracts/quote.ts'
import { type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { centsToSat } from '@penstock/kernel/money.ts'
import type { BookEntry } from '@penstock/market/order-book.ts'
import { computePurchaseBounds, formatUsd, MIN_BUDGET_CENTS } from '@penstock/market/market.ts'
import { computeCost } from '@penstock/market/price.ts'
import {
  canServe,
  maxCapacitySat,
  rankForBudget,
  rankForSize,
  type Pricing,
  type RankedOffer,
  type SellerRequirements,
} from '@penstock/market/rank.ts'
import type { CurrentRate } from './rate.ts'

export type RequestQuoteData = Extract<QuoteCommand, { readonly type: 'RequestQuote' }>['data']

/** The data for a quote. `leaseBlocks` applies if a request has no lease; `maxLeaseBlocks` is the limit for requested leases. */
export type MarketSnapshot = {
  readonly entries: readonly BookEntry[]
  readonly pricing: Pricing
  readonly currentRate: CurrentRate
  readonly leaseBlocks: number
  readonly maxLeaseBlocks: number
  /** Sellers with a channel to the buyer. Another private channel of theirs could be proven at the last height only. */
  readonly connectedSellers?: readonly string[]
}

/** `autoAccepted`: the offer accepts the order automatically, so the order does not wait for its seller. */
export type ChosenOffer = RankedOffer & { readonly leaseBlocks: number; readonly autoAccepted: boolean }
type OfferChoice = { readonly chosen: ChosenOffer } | { readonly refused: Refusal<QuoteRefusal> }

/** @returns the offer and size for a request, or a refusal with the reason */
export function chooseOffer(request: RequestQuoteData, market: MarketSnapshot): OfferChoice {
  if (request.assetId !== null) return refuse('ASSET_NOT_SOLD', 'Only bitcoin is sold here; leave asset_id out.')
  if ((request.leaseBlocks ?? 0) > market.maxLeaseBlocks)
    return refuse('LEASE_TOO_LONG', `channel_expiry_blocks must be at most ${market.maxLeaseBlocks}.`)
  if (request.offerId !== null) return chooseNamedOffer(request, request.offerId, market)
  if (request.usdCents !== null) return chooseByBudget(request, BigInt(request.usdCents), market)
  if (request.sizeSat !== null) return chooseBySize(request, BigInt(request.sizeSat), market)
  return refuse('WRONG_REQUEST', 'Provide either usd_cents or size.')
}

function chooseByBudget(request: RequestQuoteData, cents: bigint, market: MarketSnapshot): OfferChoice {
  if (cents < MIN_BUDGET_CENTS) return refuse('USD_CENTS_TOO_LOW', `usd_cents must be at least ${MIN_BUDGET_CENTS}.`)
  if ('refused' in market.currentRate) return market.currentRate
  const { entries, pricing } = market
  const requirements = requirementsOf(request, market)
  const centsPerBtc = BigInt(market.currentRate.rate.centsPerBtc)
  const budgetSat = centsToSat(cents, centsPerBtc)
  const [best] = rankForBudget(entries, requirements, budgetSat, pricing)
  if (best) return { chosen: { ...best, leaseBlocks: requirements.leaseBlocks, autoAccepted: true } }
  const bounds = computePurchaseBounds(entries, requirements, pricing)
  if (!bounds) return refuseNoSeller(requirements)
  const formatDollars = (sat: bigint) => `${formatUsd((sat * centsPerBtc) / 100_000_000n)} USD (${sat} sat)`
  if (budgetSat > bounds.maxPriceSat)
    return refuse('AMOUNT_TOO_HIGH', `No seller can sell that much now; the most is ${formatDollars(bounds.maxPriceSat)}.`)
  if (budgetSat < bounds.minPriceSat)
    return refuse('AMOUNT_TOO_LOW', `No seller sells so little now; the least is ${formatDollars(bounds.minPriceSat)}.`)
  return refuse(
    'AMOUNT_NOT_OFFERED',
    `No seller sells for that amount now; try another between ${formatDollars(bounds.minPriceSat)} and ${formatDollars(bounds.maxPriceSat)}.`,
  )
}

function chooseBySize(request: RequestQuoteData, sizeSat: bigint, market: MarketSnapshot): OfferChoice {
  const { entries, pricing } = market
  const requirements = requirementsOf(request, market)
  const [best] = rankForSize(
    entries,
    requirements,
    sizeSat,
    request.source === 'lsps1-recommended' ? 'recommended' : 'cheapest',
    pricing,
  )
  if (best) return { chosen: { ...best, leaseBlocks: requirements.leaseBlocks, autoAccepted: true } }
  const bounds = computePurchaseBounds(entries, requirements, pricing)
  if (!bounds) return refuseNoSeller(requirements)
  if (sizeSat > bounds.maxSizeSat)
    return refuse('AMOUNT_TOO_HIGH', `No seller can sell that much now; the most is ${bounds.maxSizeSat} sat.`)
  if (sizeSat < bounds.minSizeSat)
    return refuse('AMOUNT_TOO_LOW', `No seller sells so little now; the least is ${bounds.minSizeSat} sat.`)
  return refuse(
    'AMOUNT_NOT_OFFERED',
    `No seller sells that size now; try another between ${bounds.minSizeSat} and ${bounds.maxSizeSat} sat.`,
  )
}

/** A manual order needs neither a live agent nor standing acceptance. Without them, the seller has to accept the order. */
function chooseNamedOffer(request: RequestQuoteData, offerId: string, market: MarketSnapshot): OfferChoice {
  const { entries, pricing, leaseBlocks } = market
  const entry = entries.find((one) => one.offerId === offerId)
  if (!entry) return refuse('OFFER_NOT_FOUND', 'There is no such offer.')
  if (entry.status !== 'ENABLED') return refuse('OFFER_NOT_OPEN', 'This offer is not open now.')
  if (request.sizeSat === null) return refuse('WRONG_REQUEST', 'Provide the size that you want of this offer.')
  if (entry.seller.pubkey === request.destination.pubkey) return refuse('WRONG_REQUEST', "A node can't buy from itself.")
  if (request.isPrivate && !entry.seller.rails)
    return refuse('OFFER_PRIVATE', 'Private channels are sold by the rails cluster only.')
  if (request.railsOnly && !entry.seller.rails)
    return refuse('OFFER_RAILS', 'The seller of this offer is not in the rails cluster.')
  const lease = request.leaseBlocks ?? (entry.promises.minBlockLength || leaseBlocks)
  if (entry.promises.minBlockLength < lease)
    return refuse('LEASE_TOO_LONG', `This offer promises ${entry.promises.minBlockLength} blocks.`)
  const sizeSat = BigInt(request.sizeSat)
  // Without an agent no funds are attested. The seller checks its funds before it accepts.
  const mostSatNow = entry.availableSat < entry.maxSizeSat ? entry.availableSat : entry.maxSizeSat
  if (sizeSat < entry.minSizeSat || sizeSat > mostSatNow)
    return refuse('OFFER_SIZE', `size must be between ${entry.minSizeSat} and ${mostSatNow} sat for this offer.`)
  const cost = computeCost(entry.promises, sizeSat, pricing.fees, pricing.settings)
  if (!cost)
    return refuse('OFFER_NOT_OPEN', 'This offer charges for the funding, and what that costs is not known now; try again soon.')
  const autoAccepted =
    canServe(entry, { ...requirementsOf(request, market), leaseBlocks: lease }) &&
    maxCapacitySat(entry, pricing.settings) >= sizeSat
  return { chosen: { ...cost, entry, sizeSat, leaseBlocks: lease, autoAccepted } }
}

const requirementsOf = (request: RequestQuoteData, { leaseBlocks, connectedSellers }: MarketSnapshot): SellerRequirements => ({
  buyerPubkey: request.destination.pubkey,
  isPrivate: request.isPrivate,
  railsOnly: request.railsOnly,
  leaseBlocks: request.leaseBlocks ?? leaseBlocks,
  sellers: request.sellers,
  ...(connectedSellers && { lastResort: connectedSellers }),
})

const refuseNoSeller = ({ isPrivate, railsOnly }: SellerRequirements) =>
  refuse(
    'NO_SELLER',
    `No ${isPrivate || railsOnly ? 'seller of the rails cluster' : 'live seller'} can serve this order now; try again later.`,
  )
