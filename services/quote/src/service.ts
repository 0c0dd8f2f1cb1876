import { offer, seller } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import { price as priceContract, quote as quoteContract } from '@penstock/contracts/quote.ts'
import { bookView } from '@penstock/market/book.ts'
import { aggregate, ask, on, type Service, service } from '@penstock/runtime/service.ts'
import { type Known, type QuotePorts, refreshPrice, requestQuote } from './enrich.ts'
import { price } from './price.ts'
import { placing, quote } from './quote.ts'
import { prices } from './service/prices.ts'
import { rates } from './service/rates.ts'

/** A service with a book and rates of its own, so that two markets in one process share nothing. */
export function quoting(): Service<QuotePorts> {
  const known: Known = { book: bookView(), samples: new Map(), fees: null, ready: false }
  return service<QuotePorts>('quote', {
    aggregates: [
      aggregate({
        contract: quoteContract,
        decider: quote,
        hashed: { version: 1, of: { 1: (state) => state } },
        enrich: { RequestQuote: requestQuote(known) },
        process: placing,
      }),
      aggregate({
        contract: priceContract,
        decider: price,
        hashed: { version: 1, of: { 1: (state) => state } },
        enrich: { RefreshPrice: refreshPrice(known) },
      }),
    ],
    reactions: [on(order, 'OrderPlaced', (_, { aggregateId }) => [ask(quoteContract, aggregateId, 'RecordPlaced', {})])],
    memory: [{ name: 'book', from: [offer, seller], apply: known.book.apply }],
    jobs: [rates(known), prices(known)],
  })
}
