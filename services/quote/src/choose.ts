import type { QuoteCommand, QuoteRefusal } from '@penstock/contracts/quote.ts'
import { type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { centsToSat } from '@penstock/kernel/money.ts'
import type { BookEntry } from '@penstock/market/book.ts'
import { boundsOf, dollars, MIN_BUDGET_CENTS } from '@penstock/market/market.ts'
import { costOf } from '@penstock/market/price.ts'
import { forBudget, forSize, type Pricing, type Ranked, type Wish } from '@penstock/market/rank.ts'
import type { RateNow } from './rate.ts'

export type Request = Extract<QuoteCommand, { readonly type: 'RequestQuote' }>['data']

/** What a quote is made from. `maxLeaseBlocks` is the longest lease that LSPS1 offers, `leaseBlocks` that of `buy`. */
export type Market = {
  readonly entries: readonly BookEntry[]
  readonly pricing: Pricing
  readonly rateNow: RateNow
  readonly leaseBlocks: number
  readonly maxLeaseBlocks: number
  /** Sellers whose private channel could be proven at the last height only. */
  readonly linked?: readonly string[]
}

export type Chosen = Ranked & { readonly leaseBlocks: number }
type Choice = { readonly chosen: Chosen } | { readonly refused: Refusal<QuoteRefusal> }

/** The offer and size that a request gets, or the sentence that says why none. */
export function choose(request: Request, market: Market): Choice {
  if (request.assetId !== null) return refuse('ASSET_NOT_SOLD', 'Only bitcoin is sold here; leave asset_id out.')
  if ((request.leaseBlocks ?? 0) > market.maxLeaseBlocks)
    return refuse('LEASE_TOO_LONG', `channel_expiry_blocks must be at most ${market.maxLeaseBlocks}.`)
  if (request.offerId !== null) return named(request, request.offerId, market)
  if (request.usdCents !== null) return byBudget(request, BigInt(request.usdCents), market)
  if (request.sizeSat !== null) return bySize(request, BigInt(request.sizeSat), market)
  return refuse('WRONG_REQUEST', 'Say how much: an amount of dollars or a capacity.')
}

function byBudget(request: Request, cents: bigint, market: Market): Choice {
  if (cents < MIN_BUDGET_CENTS) return refuse('USD_CENTS_TOO_LOW', `usd_cents must be at least ${MIN_BUDGET_CENTS}.`)
  if ('refused' in market.rateNow) return market.rateNow
  const { entries, pricing } = market
  const wish = wishOf(request, market)
  const centsPerBtc = BigInt(market.rateNow.rate.centsPerBtc)
  const budgetSat = centsToSat(cents, centsPerBtc)
  const [best] = forBudget(entries, wish, budgetSat, pricing)
  if (best) return { chosen: { ...best, leaseBlocks: wish.leaseBlocks } }
  const bounds = boundsOf(entries, wish, pricing)
  if (!bounds) return nobody(wish)
  const inDollars = (sat: bigint) => `${dollars((sat * centsPerBtc) / 100_000_000n)} USD (${sat} sat)`
  if (budgetSat > bounds.maxPriceSat)
    return refuse('AMOUNT_TOO_HIGH', `No seller can sell that much now; the most is ${inDollars(bounds.maxPriceSat)}.`)
  if (budgetSat < bounds.minPriceSat)
    return refuse('AMOUNT_TOO_LOW', `No seller sells so little now; the least is ${inDollars(bounds.minPriceSat)}.`)
  return refuse(
    'AMOUNT_NOT_OFFERED',
    `No seller sells for that amount now; try another between ${inDollars(bounds.minPriceSat)} and ${inDollars(bounds.maxPriceSat)}.`,
  )
}

function bySize(request: Request, sizeSat: bigint, market: Market): Choice {
  const { entries, pricing } = market
  const wish = wishOf(request, market)
  const [best] = forSize(entries, wish, sizeSat, request.source === 'lsps1-recommended' ? 'recommended' : 'cheapest', pricing)
  if (best) return { chosen: { ...best, leaseBlocks: wish.leaseBlocks } }
  const bounds = boundsOf(entries, wish, pricing)
  if (!bounds) return nobody(wish)
  if (sizeSat > bounds.maxSizeSat)
    return refuse('AMOUNT_TOO_HIGH', `No seller can sell that much now; the most is ${bounds.maxSizeSat} sat.`)
  if (sizeSat < bounds.minSizeSat)
    return refuse('AMOUNT_TOO_LOW', `No seller sells so little now; the least is ${bounds.minSizeSat} sat.`)
  return refuse(
    'AMOUNT_NOT_OFFERED',
    `No seller sells that size now; try another between ${bounds.minSizeSat} and ${bounds.maxSizeSat} sat.`,
  )
}

/** A manual order on an offer: its seller is asked, so neither a live agent nor standing acceptance is needed. */
function named(request: Request, offerId: string, { entries, pricing, leaseBlocks }: Market): Choice {
  const entry = entries.find((one) => one.offerId === offerId)
  if (!entry) return refuse('OFFER_NOT_FOUND', 'There is no such offer.')
  if (entry.status !== 'ENABLED') return refuse('OFFER_NOT_OPEN', 'This offer is not open now.')
  if (request.sizeSat === null) return refuse('WRONG_REQUEST', 'Say which size you want of this offer.')
  if (entry.seller.pubkey === request.destination.pubkey) return refuse('WRONG_REQUEST', "A node can't buy from itself.")
  if (request.isPrivate && !entry.seller.rails)
    return refuse('OFFER_PRIVATE', 'Private channels are sold by the rails cluster only.')
  if (request.railsOnly && !entry.seller.rails)
    return refuse('OFFER_RAILS', 'The seller of this offer is not in the rails cluster.')
  const lease = request.leaseBlocks ?? (entry.promises.minBlockLength || leaseBlocks)
  if (entry.promises.minBlockLength < lease)
    return refuse('LEASE_TOO_LONG', `This offer promises ${entry.promises.minBlockLength} blocks.`)
  const sizeSat = BigInt(request.sizeSat)
  // Without an agent nobody attests funds; the seller looks at its own before it accepts.
  const mostSatNow = entry.availableSat < entry.maxSizeSat ? entry.availableSat : entry.maxSizeSat
  if (sizeSat < entry.minSizeSat || sizeSat > mostSatNow)
    return refuse('OFFER_SIZE', `size must be between ${entry.minSizeSat} and ${mostSatNow} sat for this offer.`)
  const cost = costOf(entry.promises, sizeSat, pricing.fees, pricing.settings)
  if (!cost)
    return refuse('OFFER_NOT_OPEN', 'This offer charges for the funding, and what that costs is not known now; try again soon.')
  return { chosen: { ...cost, entry, sizeSat, leaseBlocks: lease } }
}

const wishOf = (request: Request, { leaseBlocks, linked }: Market): Wish => ({
  buyerPubkey: request.destination.pubkey,
  isPrivate: request.isPrivate,
  railsOnly: request.railsOnly,
  leaseBlocks: request.leaseBlocks ?? leaseBlocks,
  sellers: request.sellers,
  ...(linked && { lastResort: linked }),
})

const nobody = ({ isPrivate, railsOnly }: Wish) =>
  refuse(
    'NO_SELLER',
    `No ${isPrivate || railsOnly ? 'seller of the rails cluster' : 'live seller'} can serve this order now; try again later.`,
  )
