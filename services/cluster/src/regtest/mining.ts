import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { type PendingHtlc, listPendingHtlcs } from '@penstock/servers/lightning-channels.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import type { RegtestNode } from './node-role.ts'

/** Blocks before an HTLC's expiry at which the guard has settled or cancelled it. */
const GUARD_BLOCKS = 24
/** The maximum number of blocks per step. A kill of btcd loses at most one step, and no node falls far behind. */
const STEP_BLOCKS = 100
/** The longest total wait for one payment. A killed market or node is restarted within this time. */
const GUARD_TIMEOUT_MS = 20_000
/** The longest total wait between the blocks of one call, because the caller gives up after 110 s. */
const MAX_WAIT_MS = 40_000
const ANSWER_TIMEOUT_MS = 5000
const MIN_WAIT_MS = 1000
const POLL_MS = 50
const NODE_KEY = 'the node'

/** The chain on which blocks are mined, and the nodes that have to follow it. */
export type MiningState = {
  height(): Promise<number>
  /** @throws Error if the chain does not answer */
  mineBlocks(blocks: number): Promise<unknown>
  /** Resolves when every node is at the tip. */
  waitUntilInSync(): Promise<void>
  /** HTLCs that wait at the market's node. @throws Error if the node does not answer */
  listWaitingHtlcs(): Promise<readonly PendingHtlc[]>
}

export const createMiningState = ({ chain, waitUntilSynced: inStep }: LightningServers, market: RegtestNode): MiningState => ({
  height: () => chain.rpc<number>('getblockcount'),
  mineBlocks: (blocks) => chain.rpc('generate', blocks),
  waitUntilInSync: inStep,
  listWaitingHtlcs: () => listPendingHtlcs(market.lnd),
})

/** Mines `count` blocks. @throws Error with the number of mined blocks if the chain stops answering */
export type MineBlocks = (count: number) => Promise<void>

/**
 * Mines blocks and gives the guard time to act. On mainnet, blocks are about ten minutes apart. Here a thousand blocks take
 * seconds, and could pass a payment's last height before the guard acts. So at a last height, the next block waits until the
 * market's node no longer holds the payment, for a limited time.
 */
export function createMiner(state: MiningState, clock: Clock): MineBlocks {
  /** The wait in ms for each overdue payment, by hash, and under NODE_KEY for a node that does not answer. */
  const waitedMs = new Map<string, number>()

  /** @returns the heights at which the guard has to decide, by payment hash; undefined if the node does not answer */
  async function lastHeights(): Promise<ReadonlyMap<string, number> | undefined> {
    const htlcs = await withTimeout(clock, ANSWER_TIMEOUT_MS, state.listWaitingHtlcs()).catch(() => undefined)
    if (!htlcs) return undefined
    const heights = new Map<string, number>()
    for (const { paymentHash, expiryHeight } of htlcs)
      heights.set(paymentHash, Math.min(expiryHeight - GUARD_BLOCKS, heights.get(paymentHash) ?? Infinity))
    for (const hash of waitedMs.keys()) if (!heights.has(hash)) waitedMs.delete(hash)
    return heights
  }
  /** Waits for overdue payments. @returns how many blocks may be made before the next payment is due */
  async function waitForGuard(end: number): Promise<number> {
    for (;;) {
      const askedAtMs = clock.monotonicMs()
      const heights = await lastHeights()
      const height = await state.height()
      const blocksLeft = [...(heights ?? [[NODE_KEY, height] as const])].map(([hash, last]) => ({ hash, blocks: last - height }))
      const due = blocksLeft.filter(({ hash, blocks }) => blocks <= 0 && (waitedMs.get(hash) ?? 0) < GUARD_TIMEOUT_MS)
      if (due.length === 0 || askedAtMs >= end)
        return Math.min(...blocksLeft.map(({ blocks }) => blocks).filter((blocks) => blocks > 0))
      await clock.sleep(POLL_MS)
      for (const { hash } of due) waitedMs.set(hash, (waitedMs.get(hash) ?? 0) + clock.monotonicMs() - askedAtMs)
    }
  }
  async function mine(count: number): Promise<void> {
    const end = clock.monotonicMs() + MAX_WAIT_MS
    let left = count
    try {
      for (let free = await waitForGuard(end); left > 0; free = await waitForGuard(end)) {
        const step = Math.min(left, free, STEP_BLOCKS)
        await state.mineBlocks(step)
        left -= step
        // A node that is slow or down gets the blocks later, so the timeout is ignored.
        await withTimeout(clock, Math.max(MIN_WAIT_MS, end - clock.monotonicMs()), state.waitUntilInSync()).catch(() => undefined)
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`${count - left} of ${count} blocks are made: ${reason}. Ask for the rest in a moment.`, { cause: error })
    }
  }
  const serialize = createMutex()
  return (count) => serialize(() => mine(count))
}
