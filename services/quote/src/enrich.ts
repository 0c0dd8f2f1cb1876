import type { OrderBook } from '@penstock/market/order-book.ts'
import type { FundingFeesByPriority } from '@penstock/market/price.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import { findSellersWithChannel } from '@penstock/market/existing-channels.ts'
import type { Graph } from '@penstock/ports/lightning.ts'
import type { RateSample, RateSource } from '@penstock/ports/rates.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import type { MarketSnapshot, RequestQuoteData } from './choose-offer.ts'
import type { QuoteEnrichment } from './quote.ts'
import { computePrice, type CurrentPrice } from './price.ts'
import { combineRates } from './rate.ts'

export type QuotePorts = {
  readonly rates: readonly RateSource[]
  readonly chain: Pick<Chain, 'feeRate'>
  readonly graph: Pick<Graph, 'between'>
}
type EnrichContext = { readonly at: number; readonly ports: QuotePorts & BasePorts }

/** In-memory state of this service's jobs, which they fill again shortly after a start. */
export type QuoteMemory = {
  readonly book: OrderBook
  /** The latest sample of each source. */
  readonly samples: Map<string, RateSample>
  fees: FundingFeesByPriority | null
  /** Whether every source was polled once. */
  isReady: boolean
}

export function readMarket(
  { book, samples, fees }: QuoteMemory,
  at: number,
  { config, rates }: QuotePorts & BasePorts,
): MarketSnapshot {
  return {
    entries: book.entries(at, config.railsScore),
    pricing: { settings: config, fees },
    currentRate: combineRates([...samples.values()], at, { ...config, sources: new Set(rates.map(({ name }) => name)).size }),
    leaseBlocks: config.leaseBlocks,
    maxLeaseBlocks: config.maxChannelExpiryBlocks,
  }
}

/** Uses the present time, not the command's time: a request that waited must not be quoted at an outdated rate. */
export const enrichRequestQuote =
  (memory: QuoteMemory) =>
  async (request: RequestQuoteData, { ports }: EnrichContext): Promise<QuoteEnrichment['RequestQuote']> => {
    const market = readMarket(memory, ports.clock.now(), ports)
    const sellers = market.entries.map(({ seller }) => seller.pubkey)
    const connectedSellers = await findSellersWithChannel(ports, request, sellers)
    return { market: { ...market, connectedSellers }, settings: ports.config }
  }

export const enrichRefreshPrice =
  (memory: QuoteMemory) =>
  async (_: object, { ports }: EnrichContext): Promise<{ readonly now: CurrentPrice }> => ({
    now: computePrice(readMarket(memory, ports.clock.now(), ports), ports.config.rateMaxAgeSeconds),
  })
