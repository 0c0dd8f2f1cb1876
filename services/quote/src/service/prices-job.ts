import { command } from '@penstock/kernel/process.ts'
import { priceContract, type PriceTarget } from '@penstock/contracts/quote.ts'
import type { ServiceJob, ServiceContext } from '@penstock/runtime/service.ts'
import { type QuoteMemory, readMarket, type QuotePorts } from '../enrich.ts'
import { isPriceDue, type Price, computePrice, priceStreamId } from '../price.ts'

const CHECK_INTERVAL_MS = 1000
/** Milliseconds between two reads of an unchanged price. Another replica may have written it while the lease changed its owner. */
const READ_EVERY_MS = 5000

/**
 * Writes the price when it changes, at most once per second, and again when half of its validity is over. It polls, because the
 * price depends on the book, the rate, the fees and the clock.
 */
export const createPricesJob = (memory: QuoteMemory): ServiceJob<QuotePorts> => ({
  name: 'prices',
  sends: ['price.RefreshPrice'],
  // One replica runs this job. Replicas read their sources at different times, and would overwrite each other's price repeatedly.
  run: (context, signal) => context.withLease('prices', (leaseSignal) => refreshPrices(memory, context, leaseSignal), signal),
})

async function refreshPrices(
  memory: QuoteMemory,
  { ports, decide, load }: ServiceContext<QuotePorts>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, config } = ports
  let known: { readonly day: string; readonly price: Price; readonly readAtMs: number } | undefined
  for (; !signal.aborted; await clock.sleep(CHECK_INTERVAL_MS, signal)) {
    // The price is not withdrawn between a start and the first answer of a source.
    if (!memory.isReady) continue
    const at = clock.now()
    const day = priceStreamId(at)
    const current = computePrice(readMarket(memory, at, ports), config.rateMaxAgeSeconds)
    const isFresh = known?.day === day && clock.monotonicMs() - known.readAtMs < READ_EVERY_MS
    if (known && isFresh && !isPriceDue(known.price, current, at)) continue
    const { state } = await load(priceContract.category, day)
    known = { day, price: state as Price, readAtMs: clock.monotonicMs() } // The aggregate of this category has this state.
    // This check avoids a command if nothing has changed.
    if (isPriceDue(known.price, current, at))
      await decide(command<PriceTarget>('price', day, { type: 'RefreshPrice', data: {} }), ports.ids.uuid())
  }
}
