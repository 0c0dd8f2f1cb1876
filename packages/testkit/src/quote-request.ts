import type { QuoteCommand } from '@penstock/contracts/quote.ts'

type QuoteRequest = Extract<QuoteCommand, { readonly type: 'RequestQuote' }>['data']

/** The request of `buy` for a channel for five dollars, from any seller, on the market's default terms. */
export const createQuoteRequest = (accountId: string, destination: QuoteRequest['destination']): QuoteRequest => ({
  source: 'buy',
  buyer: { accountId, key: null },
  destination,
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  usdCents: '500',
  sizeSat: null,
  offerId: null,
  sellers: null,
  leaseBlocks: null,
  requiredConfirmations: null,
  fundingConfirmsWithinBlocks: null,
  lsps: null,
  record: null,
})
