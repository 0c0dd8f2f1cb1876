import { createMutex } from '@penstock/kernel/mutex.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { RegtestNetwork } from '@penstock/cluster/regtest/network.ts'
import { OutOfSyncError } from '@penstock/servers/lightning.ts'
import { createManualMiner } from '../../lightning/miner.ts'

/** The guard has to settle or cancel a hold this number of blocks before the lowest expiry height of its HTLCs. */
const GUARD_BLOCKS = 24
/**
 * The longest time until the guard acts after a kill of the market or its node. The guard may start by its 30 s timer, and then
 * wait for three answers of up to 23 s each.
 */
const GUARD_TIMEOUT_MS = 120_000
const RETRY_INTERVAL_MS = 100

type BlockMaker = {
  /** @param count number of blocks to mine without a check between them */
  mine(count?: number): Promise<void>
  reorganise(depth: number): Promise<void>
}

/** A miner that can also mine without waiting until nodes are synced. Its blocks contain only the given raw transactions. */
export type ExclusiveMiner = BlockMaker & {
  extend(count: number, transactions?: readonly string[]): Promise<void>
  /**
   * Replaces the newest `depth` blocks by a longer branch. Nodes get the branch as a whole, so nothing happens in between.
   * @param blockIndex the block of the branch that contains the transactions; the first block is 1
   */
  replace(depth: number, transactions?: readonly string[], blockIndex?: number): Promise<void>
  /** Waits until no hold is at its last height. A task that extended the chain to a last height awaits this before a block. */
  waitUntilGuarded(): Promise<void>
}

/** The only miner of a campaign. No block appears without its checks. */
export type GuardedMiner = BlockMaker & {
  /** Runs a task that mines blocks itself, without other blocks between them. */
  runExclusively<T>(task: (blocks: ExclusiveMiner) => Promise<T>): Promise<T>
  /** A sentence for each hold that did not end at its last height. */
  readonly violations: readonly string[]
}

/**
 * Creates a miner that checks all holds after each block. A hold at its last height has to end before the next block. The miner
 * waits two minutes for that, because a killed process needs time and real blocks are ten minutes apart. Before its last height a
 * hold needs no action, so blocks may be mined while all processes are down.
 */
export function createGuardedMiner({ servers, nodesWithRole }: RegtestNetwork): GuardedMiner {
  const violations: string[] = []
  const runInTurn = createMutex()
  const [market] = nodesWithRole('market')
  if (!market) throw new Error('the network has no market')

  /** @returns a sentence for each hold at or past its last height; undefined if the market's node does not answer */
  async function findOverdueHolds(): Promise<readonly string[] | undefined> {
    try {
      const height = await servers.chain.rpc<number>('getblockcount')
      return (await market?.lightning.holds.held())?.flatMap(({ paymentHash, htlcs }) => {
        const expiryHeight = Math.min(...htlcs.filter(({ state }) => state === 'held').map(({ expiryHeight }) => expiryHeight))
        return expiryHeight - GUARD_BLOCKS <= height
          ? [`${paymentHash} is held at height ${height}, and ends at ${expiryHeight}`]
          : []
      })
    } catch {
      return undefined
    }
  }
  async function waitUntilGuarded(): Promise<void> {
    for (const end = Date.now() + GUARD_TIMEOUT_MS; ; await sleep(RETRY_INTERVAL_MS)) {
      const holds = await findOverdueHolds()
      if (holds?.length === 0) return
      if (Date.now() < end) continue
      violations.push(...(holds ?? ["the market's node does not answer any more"]))
      return
    }
  }
  // Blocks that btcd composes would at once confirm the transactions of removed blocks again, so these miners compose blocks.
  const syncedMiner = createManualMiner({ chain: servers.chain, waitUntilSynced: () => syncOrRestart(servers) })
  const unsyncedMiner = createManualMiner({ chain: servers.chain, waitUntilSynced: () => Promise.resolve() })
  const blocks: ExclusiveMiner = {
    waitUntilGuarded,
    extend: (count, transactions) => unsyncedMiner.extend(count, transactions),
    replace: (depth, transactions, blockIndex) => unsyncedMiner.replace(depth, transactions, blockIndex),
    async mine(count = 1): Promise<void> {
      await servers.chain.rpc('generate', count)
      await syncOrRestart(servers)
      await waitUntilGuarded()
    },
    async reorganise(depth: number): Promise<void> {
      await syncedMiner.replace(depth)
      await waitUntilGuarded()
    },
  }
  return {
    violations,
    mine: (count) => runInTurn(() => blocks.mine(count)),
    reorganise: (depth) => runInTurn(() => blocks.reorganise(depth)),
    runExclusively: (task) => runInTurn(() => task(blocks)),
  }
}

/** Waits until all nodes are synced. After blocks, re-organisations or kills an lnd may stop syncing; one restart repairs it. */
async function syncOrRestart(servers: RegtestNetwork['servers']): Promise<void> {
  try {
    await servers.waitUntilSynced()
  } catch (error) {
    if (!(error instanceof OutOfSyncError)) throw error
    process.stderr.write(`lnd is killed and started again: ${inspect(error)}\n`)
    await error.node.kill()
    await servers.waitUntilSynced()
  }
}
