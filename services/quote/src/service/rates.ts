import { fundingFees } from '@penstock/market/price.ts'
import { chargesForFunding } from '@penstock/market/rank.ts'
import type { Job } from '@penstock/runtime/service.ts'
import type { Known, QuotePorts } from '../enrich.ts'

const POLL_SECONDS = 30

/** Reads the sources of the rate, and what a funding costs where an offer charges for it. */
export const rates = (known: Known): Job<QuotePorts> => ({
  name: 'rates',
  run: async ({ ports }, signal) => {
    // Several polls within the life of a rate, so that one lost answer stops nothing.
    const pollMs = Math.min(POLL_SECONDS, ports.config.rateMaxAgeSeconds / 3) * 1000
    while (!signal.aborted) {
      await Promise.all([...ports.rates.map((source) => readInto(known, source, ports)), feesInto(known, ports)])
      known.ready = true
      await ports.clock.sleep(pollMs, signal)
    }
  },
})

type Ports = Parameters<Job<QuotePorts>['run']>[0]['ports']

async function readInto({ samples }: Known, source: QuotePorts['rates'][number], { log }: Ports): Promise<void> {
  try {
    samples.set(source.name, await source.read())
  } catch (error) {
    log.warn({ source: source.name, error: String(error) }, 'a source of the rate does not answer')
  }
}

async function feesInto(known: Known, ports: Ports): Promise<void> {
  if (!chargesForFunding(known.book.entries(ports.clock.now(), ports.config.railsScore))) return
  try {
    known.fees = await fundingFees((blocks) => ports.chain.feeRate(blocks))
  } catch (error) {
    known.fees = null
    ports.log.warn({ error: String(error) }, 'no fee rate: offers that charge for their funding are passed over')
  }
}
