import { z } from 'zod'
import { defineContract, v1, v2, v3, type CommandsOf, type FactsOf, type TargetOf } from './define.ts'
import { lspsRequest, orderSource, orderTerms } from './order.ts'
import {
  amount,
  destination,
  fundingFees,
  hash,
  instant,
  invoiceBefore,
  noData,
  pubkey,
  rate,
  sentence,
  uuid,
  acceptMissingInvoiceBefore,
} from './shapes.ts'

/** A buyer's request. Exactly one of `usdCents` (a budget) and `sizeSat` (a capacity) is set. */
const quoteRequest = z.strictObject({
  source: orderSource,
  buyer: orderTerms.shape.buyer,
  destination,
  isPrivate: z.boolean(),
  railsOnly: z.boolean(),
  assetId: z.string().max(128).nullable(),
  usdCents: amount.nullable(),
  sizeSat: amount.nullable(),
  /** Manual orders have an `offerId`. LSPS1 orders have `sellers`: the nodes that get_info published. */
  offerId: uuid.nullable(),
  sellers: z.array(pubkey).nullable(),
  leaseBlocks: z.int().positive().nullable(),
  requiredConfirmations: z.int().positive().nullable(),
  fundingConfirmsWithinBlocks: z.int().positive().nullable(),
  lsps: lspsRequest.nullable(),
  record: z.strictObject({ id: uuid, hash }).nullable(),
  invoiceBefore,
})

/** Reasons for the refusal of a quote. */
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
export const quoteContract = defineContract('quote', 'quote', {
  correlates: 'order',
  facts: {
    /**
     * The terms of the future order, and the funding fees that they were computed with. `placeBefore`: the time at which the caller
     * stops waiting; it is missing in facts of older versions.
     */
    Quoted: v3(
      z.strictObject({ terms: orderTerms, fundingFees, placeBefore: instant.optional() }),
      acceptMissingInvoiceBefore,
      (old: object) => old,
    ),
    /** The order was placed. Only earlier versions recorded this. */
    QuotePlaced: v1(noData),
  },
  commands: { RequestQuote: { ...v2(quoteRequest, acceptMissingInvoiceBefore), from: ['gateway'] } },
  records: {
    RequestQuote: ['Quoted'],
  },
  unpaid: ['RequestQuote', 'Quoted', 'QuotePlaced'],
})
export type QuoteFact = FactsOf<typeof quoteContract>
export type QuoteCommand = CommandsOf<typeof quoteContract>
export type QuoteTarget = TargetOf<typeof quoteContract>

/** The capacity that one dollar buys. There is one stream per day (`price-2026-11-20`), with a fact for each change. */
export const priceContract = defineContract('price', 'quote', {
  isFollowedInMemory: true,
  facts: {
    PriceSet: v1(z.strictObject({ satsPerUsd: amount, usdPerUsd: z.string(), rate, fundingFees, validUntil: instant })),
    PriceWithdrawn: v1(z.strictObject({ reason: sentence })),
  },
  commands: {
    /** Recomputes the price from the order book and the rate, whenever one of them changes. */
    RefreshPrice: v1(noData),
  },
  records: {
    RefreshPrice: ['PriceSet', 'PriceWithdrawn'],
  },
})
export type PriceFact = FactsOf<typeof priceContract>
export type PriceCommand = CommandsOf<typeof priceContract>
export type PriceTarget = TargetOf<typeof priceContract>
