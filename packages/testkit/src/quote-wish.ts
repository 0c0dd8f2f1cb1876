import type { QuoteCommand } from '@penstock/contracts/quote.ts'

type Wish = Extract<QuoteCommand, { readonly type: 'RequestQuote' }>['data']

/** What `buy` asks for: a channel for five dollars, from whoever sells it, on the market's own terms. */
export const wishOf = (accountId: string, destination: Wish['destination']): Wish => ({
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
