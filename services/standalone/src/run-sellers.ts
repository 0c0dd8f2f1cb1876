import { join } from 'node:path'
import type { DataDir } from '@penstock/config/data-dir.ts'
import type { SimulatedNetwork } from '@penstock/platforms/external-world.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { retryFaults } from '@penstock/runtime/retry.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import type { SellerTerms } from '@penstock/seller-agent/terms.ts'

export type DemoSellersOptions = {
  readonly url: string
  readonly dir: DataDir
  readonly network: SimulatedNetwork
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  /** Admits a seller to the rails cluster, as an operator does. */
  readonly grantRails: (pubkey: string) => Promise<void>
}

const RAILS_SELLERS = 2
const MOST_EXPENSIVE_SELLER = 3

/** Each seller is more expensive than the previous one. The most expensive also charges an estimate of its funding fee. */
const termsOf = (index: number): SellerTerms => ({
  totalSizeSat: 1_500_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: 16_000_000n,
  minBlockLength: 52_560,
  baseFeeSat: BigInt(200 + 50 * index),
  feeRatePpm: 2000 + 150 * index,
  baseFeeCapSat: 1n,
  feeRateCapPpm: 500,
  ...(index === MOST_EXPENSIVE_SELLER && { onchainMultiplier: 1 }),
  autoAccept: true,
})

/**
 * Runs the sellers of the demonstration: agents on simulated nodes, which use only the public interface of the market.
 * Resolves when all agents have ended after the signal.
 */
export async function runSellers(options: DemoSellersOptions, signal: AbortSignal): Promise<void> {
  const nodes = await listNodes(options, signal)
  const sellerNodes = nodes.filter(({ role }) => role === 'seller')
  await Promise.all(sellerNodes.map((node, index) => runSeller(options, node, index, signal)))
}

/** Retries, because the simulated network may be a separate process that is restarting. */
async function listNodes({ clock, ids, network }: DemoSellersOptions, signal: AbortSignal) {
  try {
    return await retryFaults({ clock, ids }, signal, async () => network.control.nodes())
  } catch (error) {
    if (signal.aborted) return []
    throw error
  }
}

async function runSeller(
  options: DemoSellersOptions,
  node: { alias: string; pubkey: string },
  index: number,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options
  const log = options.log.child({ seller: node.alias })
  while (!signal.aborted) {
    try {
      if (index < RAILS_SELLERS) await options.grantRails(node.pubkey)
      await runAgentOnce(options, node.alias, termsOf(index), log, signal)
    } catch (error) {
      if (signal.aborted) return
      log.error({ reason: String(error) }, 'a seller agent failed; restarting')
      await clock.sleep(2000, signal)
    }
  }
}

async function runAgentOnce(
  options: DemoSellersOptions,
  alias: string,
  terms: SellerTerms,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { url, dir, network, clock, ids } = options
  const journal = openJournal(join(dir.agents, `${alias}.db`))
  try {
    const lightning = network.lightning(alias)
    const feeRate = (targetBlocks: number) => network.chain().feeRate(targetBlocks)
    await runSellerAgent({
      url,
      lightning,
      journal,
      terms,
      clock,
      ids,
      log,
      signal,
      feeRate,
      timings: { watchMs: 3000, concurrency: 64 },
    })
  } finally {
    journal.close()
  }
}
