import { join } from 'node:path'
import type { DataDir } from '@penstock/platforms/data-dir.ts'
import type { SimulatedNetwork } from '@penstock/platforms/outside.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { throughFaults } from '@penstock/runtime/backoff.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import type { SellerTerms } from '@penstock/seller-agent/terms.ts'

export type Neighbourhood = {
  readonly url: string
  readonly dir: DataDir
  readonly network: SimulatedNetwork
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** An operator's grant into the rails cluster. */
  readonly grantRails: (pubkey: string) => Promise<void>
}

const RAILS_SELLERS = 2
const DEAREST = 3

/** Each seller of the demonstration asks a little more than the one before, so that the book has an order; the dearest, for its funding too. */
const termsOf = (index: number): SellerTerms => ({
  totalSizeSat: 1_500_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: 16_000_000n,
  minBlockLength: 52_560,
  baseFeeSat: BigInt(200 + 50 * index),
  feeRatePpm: 2000 + 150 * index,
  baseFeeCapSat: 1n,
  feeRateCapPpm: 500,
  ...(index === DEAREST && { onchainMultiplier: 1 }),
  autoAccept: true,
})

/**
 * The sellers of the demonstration: agents on simulated nodes, which know the market by its public interface only.
 * @returns when all of them have ended, after the signal
 */
export async function sellers(place: Neighbourhood, signal: AbortSignal): Promise<void> {
  const nodes = await nodesOf(place, signal)
  const selling = nodes.filter(({ role }) => role === 'seller')
  await Promise.all(selling.map((node, index) => seller(place, node, index, signal)))
}

/** A network in a process of its own may be started again just then. */
async function nodesOf({ clock, network }: Neighbourhood, signal: AbortSignal) {
  try {
    return await throughFaults(clock, signal, async () => network.control.nodes())
  } catch (error) {
    if (signal.aborted) return []
    throw error
  }
}

async function seller(
  place: Neighbourhood,
  node: { alias: string; pubkey: string },
  index: number,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = place
  const log = place.log.child({ seller: node.alias })
  while (!signal.aborted) {
    try {
      if (index < RAILS_SELLERS) await place.grantRails(node.pubkey)
      await sell(place, node.alias, termsOf(index), log, signal)
    } catch (error) {
      if (signal.aborted) return
      log.error({ reason: String(error) }, 'a seller-agent failed and is started again')
      await clock.sleep(2000, signal)
    }
  }
}

async function sell(place: Neighbourhood, alias: string, terms: SellerTerms, log: Log, signal: AbortSignal): Promise<void> {
  const { url, dir, network, clock, ids } = place
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
      pace: { pollMs: 500, watchMs: 3000, concurrency: 64 },
    })
  } finally {
    journal.close()
  }
}
