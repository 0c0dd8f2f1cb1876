import { attestFunds } from './attest.ts'
import { openMarket } from './market.ts'
import { followChannels } from './follow.ts'
import { newsOf } from './news.ts'
import { ensureRegistered, type RegistrationOptions } from './register.ts'
import { type FundingFees, fundingFees, type Pace, pace as usualPace } from './terms.ts'
import { workOnSales } from './work.ts'

export type AgentOptions = RegistrationOptions & {
  /** Where they differ from the usual ones. */
  readonly pace?: Partial<Pace>
  readonly fees?: Partial<FundingFees>
  /** The going rate in satoshis per virtual byte, for confirmation within so many blocks. */
  readonly feeRate?: (targetBlocks: number) => Promise<number>
}

/**
 * Sells the channels of one node through the market's public interface, until the signal. Registers first if that has
 * not happened yet; what an earlier run left open is taken up where its journal ends.
 */
export async function runSellerAgent(options: AgentOptions): Promise<void> {
  const { lightning, journal, clock, log, signal, terms, feeRate } = options
  const pace = { ...usualPace, ...options.pace }
  try {
    const { pubkey, apiKey } = await ensureRegistered(options)
    const market = openMarket({ ...options, bearer: apiKey })
    const fees = { ...fundingFees, ...options.fees }
    const desk = {
      lightning,
      market,
      journal,
      clock,
      log,
      pubkey,
      terms,
      fees,
      preparing: new Map<string, string>(),
      news: newsOf(clock),
      ...(feeRate && { feeRate }),
    }
    await together(signal, [
      (until) => attestFunds(desk, pace, until, desk.news.funds),
      (until) => workOnSales(desk, pace, until),
      (until) => followChannels(desk, pace, until),
    ])
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** One that fails ends the others: whoever starts an agent again must not find a part of the old one at work. */
async function together(signal: AbortSignal, works: readonly ((until: AbortSignal) => Promise<void>)[]): Promise<void> {
  const failed = new AbortController()
  const until = AbortSignal.any([signal, failed.signal])
  const running = works.map((work) => work(until))
  try {
    await Promise.all(running)
  } finally {
    failed.abort('over')
    await Promise.allSettled(running)
  }
}
