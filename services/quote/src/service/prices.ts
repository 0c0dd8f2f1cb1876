import { price as priceContract } from '@penstock/contracts/quote.ts'
import { ask, type Job, type ServiceContext } from '@penstock/runtime/service.ts'
import { type Known, marketNow, type QuotePorts } from '../enrich.ts'
import { isNews, type Price, priceOf, priceStream } from '../price.ts'

const EVERY_MS = 1000

/**
 * Writes the price when it changes, at most once a second, and again when half of its time is over. It looks instead of
 * listening: the price hangs on the book, the rate, the fees and the clock alike.
 */
export const prices = (known: Known): Job<QuotePorts> => ({
  name: 'prices',
  // By one replica: each has read its sources at another moment, and two would answer each other's price for ever.
  run: (context, signal) => context.alone('prices', (held) => keepPrice(known, context, held), signal),
})

async function keepPrice(known: Known, { ports, decide, load }: ServiceContext<QuotePorts>, signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; await ports.clock.sleep(EVERY_MS, signal)) {
    // A price is not withdrawn for the moment between a start and the first answer of a source.
    if (!known.ready) continue
    const at = ports.clock.now()
    const day = priceStream(at)
    const { state } = await load(priceContract.category, day)
    // The aggregate of this category has this state. A first look, so that a quiet second costs no command.
    if (isNews(state as Price, priceOf(marketNow(known, at, ports), ports.config.rateMaxAgeSeconds), at))
      await decide(ask(priceContract, day, 'RefreshPrice', {}), ports.ids.uuid())
  }
}
