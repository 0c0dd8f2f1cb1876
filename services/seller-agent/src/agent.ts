import { attestFunds } from './attest.ts'
import { openMarket } from './market.ts'
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
      ...(feeRate && { feeRate }),
    }
    await Promise.all([attestFunds(desk, pace, signal), workOnSales(desk, pace, signal)])
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
