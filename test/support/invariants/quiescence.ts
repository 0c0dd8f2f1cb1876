import { setTimeout as sleep } from 'node:timers/promises'
import { buildOrderModels } from './order-model.ts'
import type { Fold } from './fold.ts'
import { checkOrders } from './orders.ts'
import { findHtlcsAtMarket, type NetworkState } from './network-state.ts'
import { DECISION_FOR_SELLER, findUndecidedOrders } from './undecided.ts'
import { findUnexplainedWork, type PendingWork, listPendingWork } from './pending-work.ts'

export type QuiescenceOptions = {
  readonly fold: Fold
  readonly readNetworkState: () => Promise<Pick<NetworkState, 'height' | 'heldHtlcs' | 'marketPubkey'>>
  /**
   * Mines blocks, because an unproven hold ends only at its last height, about a hundred blocks later.
   * @param maxBlocks the largest number of blocks before a hold gets close to its last height; 0 if a hold is close to it
   */
  readonly mine: (maxBlocks: number) => Promise<unknown>
  /** Decides about an undecided payout as the operator. */
  readonly decide: (orderId: string, decision: typeof DECISION_FOR_SELLER) => Promise<unknown>
  readonly mineAfterMs: number
  readonly timeoutMs: number
}

const POLL_INTERVAL_MS = 250

/** Waits for quiescence. @returns the pending work at quiescence or at the timeout */
export async function waitForQuiescence(options: QuiescenceOptions): Promise<readonly PendingWork[]> {
  const startedAt = performance.now()
  for (;;) {
    const waitedMs = performance.now() - startedAt
    const isLate = waitedMs > options.timeoutMs
    const check = checkQuiescence(options)
    // A check fails while a killed process has not restarted. Only a failure at the timeout is an error.
    const result = isLate ? await check : await check.catch(() => undefined)
    if (result && (isLate || result.isQuiescent)) return result.pendingWork
    // The market refuses the decision if the payout is no longer undecided.
    for (const order of result?.undecidedOrders ?? []) await options.decide(order, DECISION_FOR_SELLER).catch(() => undefined)
    if (waitedMs > options.mineAfterMs) await mineAhead(options).catch(() => undefined)
    await sleep(POLL_INTERVAL_MS)
  }
}

/** `mine` stops this number of blocks before an HTLC expires: the guard's 24 blocks and two more. */
const GUARDED_BLOCKS = 26

async function mineAhead({ readNetworkState: readState, mine }: QuiescenceOptions): Promise<unknown> {
  const networkState = await readState()
  const blocksLeft = findHtlcsAtMarket(networkState).map(
    ({ expiry_height }) => Number(expiry_height) - GUARDED_BLOCKS - networkState.height,
  )
  return mine(Math.max(0, Math.min(...blocksLeft)))
}

type QuiescenceCheck = {
  readonly pendingWork: readonly PendingWork[]
  readonly undecidedOrders: readonly string[]
  readonly isQuiescent: boolean
}

/**
 * Checks that every pending step waits for a known party, no order is lost, and the market's node holds no HTLC. The network is
 * read before the facts, so that facts about its height are included.
 */
async function checkQuiescence({ fold, readNetworkState: readState }: QuiescenceOptions): Promise<QuiescenceCheck> {
  const networkState = await readState()
  await fold.catchUp()
  const pendingWork = listPendingWork(fold.pendingSteps(), { at: Date.now(), height: networkState.height })
  const isQuiescent =
    findUnexplainedWork(pendingWork).length === 0 &&
    checkOrders(buildOrderModels(fold.events), pendingWork).length === 0 &&
    findHtlcsAtMarket(networkState).length === 0
  return { pendingWork, isQuiescent, undecidedOrders: findUndecidedOrders(fold.pendingSteps(), networkState.height) }
}
