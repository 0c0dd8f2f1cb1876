import { z } from 'zod'
import { contract, v1, type CommandsOf, type FactsOf } from './define.ts'
import { lspsRequest, orderSource, orderTerms } from './order.ts'
import { amount, destination, fundingFees, hash, instant, none, pubkey, rate, sentence, uuid } from './shapes.ts'

/** What somebody wants to buy. Exactly one of `usdCents` (a budget) and `sizeSat` (a capacity) is there. */
const request = z.strictObject({
  source: orderSource,
  buyer: orderTerms.shape.buyer,
  destination,
  isPrivate: z.boolean(),
  railsOnly: z.boolean(),
  assetId: z.string().max(128).nullable(),
  usdCents: amount.nullable(),
  sizeSat: amount.nullable(),
  /** Manual orders name their offer; LSPS1 orders may only be served by the nodes that get_info named. */
  offerId: uuid.nullable(),
  sellers: z.array(pubkey).nullable(),
  leaseBlocks: z.int().positive().nullable(),
  requiredConfirmations: z.int().positive().nullable(),
  fundingConfirmsWithinBlocks: z.int().positive().nullable(),
  lsps: lspsRequest.nullable(),
  record: z.strictObject({ id: uuid, hash }).nullable(),
})

/** Why there is no quote. */
export const quoteRefusals = [
  'WRONG_REQUEST',
  'USD_CENTS_TOO_LOW',
  'ASSET_NOT_SOLD',
  'RATE_STALE',
  'RATES_DIFFER',
  'NO_SELLER',
  'AMOUNT_TOO_LOW',
  'AMOUNT_TOO_HIGH',
  'AMOUNT_NOT_OFFERED',
  'OFFER_NOT_FOUND',
  'OFFER_NOT_OPEN',
  'OFFER_SIZE',
  'OFFER_PRIVATE',
  'OFFER_RAILS',
  'LEASE_TOO_LONG',
  'FUNDING_CONFIRMS_TOO_LATE',
  'TOO_MANY_CONFIRMATIONS',
] as const
export type QuoteRefusal = (typeof quoteRefusals)[number]

/** LSPS1's OPTION_MISMATCH (100): the option of get_info that a refused request did not meet. */
export const optionMismatch: Partial<Record<QuoteRefusal, string>> = {
  AMOUNT_TOO_LOW: 'min_initial_lsp_balance_sat',
  AMOUNT_TOO_HIGH: 'max_initial_lsp_balance_sat',
  AMOUNT_NOT_OFFERED: 'max_initial_lsp_balance_sat',
  LEASE_TOO_LONG: 'max_channel_expiry_blocks',
  FUNDING_CONFIRMS_TOO_LATE: 'min_funding_confirms_within_blocks',
  TOO_MANY_CONFIRMATIONS: 'min_required_channel_confirmations',
}

/** The pricing of one order; the stream's id is the order's. */
export const quote = contract('quote', 'quote', {
  facts: {
    /** The terms of the order to be, and the estimates that they were made with. */
    Quoted: v1(z.strictObject({ terms: orderTerms, fundingFees })),
    /** The order has begun: the quote is done with. */
    QuotePlaced: v1(none),
  },
  commands: { RequestQuote: v1(request), RecordPlaced: v1(none) },
  fromOthers: ['RequestQuote'],
})
export type QuoteFact = FactsOf<typeof quote>
export type QuoteCommand = CommandsOf<typeof quote>

/** What one dollar buys, a stream a day (`price-2026-11-20`), written when it changes. */
export const price = contract('price', 'quote', {
  facts: {
    PriceSet: v1(z.strictObject({ satsPerUsd: amount, usdPerUsd: z.string(), rate, fundingFees, validUntil: instant })),
    PriceWithdrawn: v1(z.strictObject({ reason: sentence })),
  },
  commands: {
    /** Recomputed from the book and the rate whenever one of them changes. */
    RefreshPrice: v1(none),
  },
  fromOthers: [],
})
export type PriceFact = FactsOf<typeof price>
export type PriceCommand = CommandsOf<typeof price>
