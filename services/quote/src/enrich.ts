import type { Book } from '@penstock/market/book.ts'
import type { FundingFees } from '@penstock/market/price.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import { linkedSellers } from '@penstock/ports/linked.ts'
import type { Graph } from '@penstock/ports/lightning.ts'
import type { RateSample, RateSource } from '@penstock/ports/rates.ts'
import type { Basics } from '@penstock/runtime/basics.ts'
import type { Market, Request } from './choose.ts'
import type { QuoteExtra } from './quote.ts'
import { priceOf, type PriceNow } from './price.ts'
import { combine } from './rate.ts'

export type QuotePorts = {
  readonly rates: readonly RateSource[]
  readonly chain: Pick<Chain, 'feeRate'>
  readonly graph: Pick<Graph, 'between'>
}
type About = { readonly at: number; readonly ports: QuotePorts & Basics }

/** What the loops of this service keep in memory: everything of it is there again a moment after a start. */
export type Known = {
  readonly book: Book
  /** The latest sample of each source. */
  readonly samples: Map<string, RateSample>
  fees: FundingFees | null
  /** Every source was asked once. */
  ready: boolean
}

export function marketNow({ book, samples, fees }: Known, at: number, { config, rates }: QuotePorts & Basics): Market {
  return {
    entries: book.entries(at, config.railsScore),
    pricing: { settings: config, fees },
    rateNow: combine([...samples.values()], at, { ...config, sources: new Set(rates.map(({ name }) => name)).size }),
    leaseBlocks: config.leaseBlocks,
    maxLeaseBlocks: config.maxChannelExpiryBlocks,
  }
}

/** By the clock of now, not by the command's time: a request that waited must not be quoted at a rate that is too old. */
export const requestQuote =
  (known: Known) =>
  async (request: Request, { ports }: About): Promise<QuoteExtra['RequestQuote']> => {
    const market = marketNow(known, ports.clock.now(), ports)
    const sellers = market.entries.map(({ seller }) => seller.pubkey)
    const linked = await linkedSellers(ports, request, sellers)
    return { market: { ...market, linked }, settings: ports.config }
  }

export const refreshPrice =
  (known: Known) =>
  async (_: object, { ports }: About): Promise<{ readonly now: PriceNow }> => ({
    now: priceOf(marketNow(known, ports.clock.now(), ports), ports.config.rateMaxAgeSeconds),
  })
