import { offerContract, sellerContract } from '@penstock/contracts/matching.ts'
import { priceContract, quoteContract } from '@penstock/contracts/quote.ts'
import { createOrderBook } from '@penstock/market/order-book.ts'
import { defineAggregate, type Service, defineService } from '@penstock/runtime/service.ts'
import { type QuoteMemory, type QuotePorts, enrichRefreshPrice, enrichRequestQuote } from './enrich.ts'
import { priceDecider } from './price.ts'
import { quoteProcess, quoteDecider } from './quote.ts'
import { createPricesJob } from './service/prices-job.ts'
import { createRatesJob } from './service/rates-job.ts'

/** Creates the service with its own book and rates, so that two markets in one process share no state. */
export function quoteService(): Service<QuotePorts> {
  const memory: QuoteMemory = { book: createOrderBook(), samples: new Map(), fees: null, isReady: false }
  return defineService<QuotePorts>('quote', {
    aggregates: [
      defineAggregate({
        contract: quoteContract,
        decider: quoteDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
        enrich: { RequestQuote: enrichRequestQuote(memory) },
        process: quoteProcess,
        follows: { Quoted: ['order.PlaceOrder'] },
      }),
      defineAggregate({
        contract: priceContract,
        decider: priceDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
        enrich: { RefreshPrice: enrichRefreshPrice(memory) },
      }),
    ],
    memoryViews: [{ name: 'book', from: [offerContract, sellerContract], apply: memory.book.apply }],
    jobs: [createRatesJob(memory), createPricesJob(memory)],
  })
}
