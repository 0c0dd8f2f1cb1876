import { attestFunds } from './attest-funds.ts'
import { openMarketClient } from './market-client.ts'
import { followChannels } from './follow-channels.ts'
import { createWakeUps } from './wake-up.ts'
import { ensureRegistered, type RegistrationOptions } from './register.ts'
import { type FundingFeeSettings, defaultFundingFeeSettings, type AgentTimings, defaultTimings } from './terms.ts'
import { runSaleWorker } from './worker.ts'

export type AgentOptions = RegistrationOptions & {
  /** Timings that replace the default ones. */
  readonly timings?: Partial<AgentTimings>
  readonly fees?: Partial<FundingFeeSettings>
  /** The current fee rate in satoshis per virtual byte, for a confirmation within `targetBlocks`. */
  readonly feeRate?: (targetBlocks: number) => Promise<number>
}

/**
 * Sells the channels of one node through the market's public interface until the signal aborts. Registers first if the
 * journal has no registration, and continues the open sales of the journal.
 */
export async function runSellerAgent(options: AgentOptions): Promise<void> {
  const { lightning, journal, clock, ids, log, signal, terms, feeRate } = options
  const timings = { ...defaultTimings, ...options.timings }
  try {
    const { pubkey, apiKey } = await ensureRegistered(options)
    const market = openMarketClient({ ...options, bearer: apiKey })
    const fees = { ...defaultFundingFeeSettings, ...options.fees }
    const context = {
      lightning,
      market,
      journal,
      clock,
      ids,
      log,
      pubkey,
      terms,
      fees,
      preparing: new Map<string, string>(),
      wakeUps: createWakeUps(clock),
      ...(feeRate && { feeRate }),
    }
    await runTogether(signal, [
      (until) => attestFunds(context, timings, until, context.wakeUps.funds),
      (until) => runSaleWorker(context, timings, until),
      (until) => followChannels(context, timings, until),
    ])
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Runs jobs in parallel. A failed job ends the other jobs, so that none of them still runs when the agent is restarted. */
async function runTogether(signal: AbortSignal, jobs: readonly ((until: AbortSignal) => Promise<void>)[]): Promise<void> {
  const failed = new AbortController()
  const until = AbortSignal.any([signal, failed.signal])
  const running = jobs.map((job) => job(until))
  try {
    await Promise.all(running)
  } finally {
    failed.abort('over')
    await Promise.allSettled(running)
  }
}
