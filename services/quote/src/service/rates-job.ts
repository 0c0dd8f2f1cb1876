import { estimateFundingFees } from '@penstock/market/price.ts'
import { hasFundingCharge } from '@penstock/market/rank.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import type { QuoteMemory, QuotePorts } from '../enrich.ts'

const POLL_SECONDS = 30

/** Reads the sources of the rate, and the funding fees if an offer charges for its funding. */
export const createRatesJob = (memory: QuoteMemory): ServiceJob<QuotePorts> => ({
  name: 'rates',
  run: async ({ ports }, signal) => {
    // There are several polls within the validity of a rate, so that one lost answer does not stop quotes.
    const pollMs = Math.min(POLL_SECONDS, ports.config.rateMaxAgeSeconds / 3) * 1000
    while (!signal.aborted) {
      await Promise.all([...ports.rates.map((source) => readRate(memory, source, ports)), readFundingFees(memory, ports)])
      memory.isReady = true
      await ports.clock.sleep(pollMs, signal)
    }
  },
})

type JobPorts = Parameters<ServiceJob<QuotePorts>['run']>[0]['ports']

async function readRate({ samples }: QuoteMemory, source: QuotePorts['rates'][number], { log }: JobPorts): Promise<void> {
  try {
    samples.set(source.name, await source.read())
  } catch (error) {
    log.warn({ source: source.name, error: String(error) }, 'a rate source does not answer')
  }
}

async function readFundingFees(memory: QuoteMemory, ports: JobPorts): Promise<void> {
  if (!hasFundingCharge(memory.book.entries(ports.clock.now(), ports.config.railsScore))) return
  try {
    memory.fees = await estimateFundingFees((blocks) => ports.chain.feeRate(blocks))
  } catch (error) {
    memory.fees = null
    ports.log.warn({ error: String(error) }, 'no fee rate; skipping offers that charge for their funding')
  }
}
