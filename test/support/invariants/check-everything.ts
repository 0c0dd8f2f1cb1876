import { withDecisionProof } from './prove-decision.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import type { Product } from '../product.ts'
import type { NodeBalances } from './balances.ts'
import { type OrderModel, buildOrderModels } from './order-model.ts'
import type { HeightRange } from './uptime.ts'
import type { Fold } from './fold.ts'
import { readStableNetwork } from './network-snapshot.ts'
import type { RoundSales } from './purchases.ts'
import { compareReadModels, checkReadProgress } from './read-models.ts'
import { waitForQuiescence } from './quiescence.ts'
import { readNetworkBlocks, readNetworkState } from './network-state.ts'
import type { PendingWork } from './pending-work.ts'
import { checkFinalState } from './final-checks.ts'

export type CheckResult = {
  readonly orders: readonly OrderModel[]
  readonly pendingWork: readonly PendingWork[]
  /** The balance of every node after quiescence. */
  readonly balances: NodeBalances
  readonly violations: readonly string[]
}

type CheckOptions = {
  /** Returns the height ranges up to `height` in which the market was up and its node answered; empty if unknown. */
  readonly uptime?: (height: number) => readonly HeightRange[]
  readonly sales?: RoundSales
}

/**
 * Waits for quiescence, stops the market, and runs all final checks.
 * @param initialMsat the balance of the market's node before the first order
 */
export async function checkEverything(
  product: Product,
  fold: Fold,
  initialMsat: bigint,
  { uptime = () => [], sales }: CheckOptions = {},
): Promise<CheckResult> {
  const { dataDir } = product
  const pendingWork = await waitForQuiescence({
    fold,
    readNetworkState: async () => readNetworkState(dataDir),
    mine: async (maxBlocks) => maxBlocks > 0 && product.operator('POST', '/sim/mine', { blocks: Math.min(maxBlocks, 6) }),
    decide: (order, decision) =>
      product.operator('POST', `/payouts/${order}/decide`, withDecisionProof(product.dataDir, order, decision)),
    mineAfterMs: MINE_AFTER_MS,
    timeoutMs: QUIESCENCE_TIMEOUT_MS,
  })
  const unreadFacts = await waitUntilRead(dataDir, fold)
  const { nodeFunds, balances } = await readStableNetwork(product)
  const gainedMsat = (balances.get('market') ?? 0n) - initialMsat
  const parked = await product.operator<readonly object[]>('GET', '/parked')
  const exitCode = await product.stop()
  await fold.catchUp()
  const orders = buildOrderModels(fold.events)
  const networkState = readNetworkState(dataDir)
  const violations = checkFinalState({
    exitCode,
    pendingWork,
    orders,
    parked,
    auditReport: await verifyStore(dataDir),
    networkState,
    gainedMsat,
    nodeFunds,
    balances,
    uptime: uptime(networkState.height),
    blocks: readNetworkBlocks(dataDir),
    unreadFacts,
    rowDifferences: await compareReadModels(dataDir, fold.events),
    sales,
  })
  return { orders, pendingWork, balances, violations }
}

const QUIESCENCE_TIMEOUT_MS = 120_000
const MINE_AFTER_MS = 6000
const READ_TIMEOUT_MS = 60_000
const READ_INTERVAL_MS = 100

/** Waits until the read models have applied all facts. @returns a sentence for each projection that has not at the timeout */
async function waitUntilRead(dataDir: string, fold: Fold): Promise<readonly string[]> {
  await fold.catchUp()
  const events = [...fold.events]
  for (const end = performance.now() + READ_TIMEOUT_MS; ; await sleep(READ_INTERVAL_MS)) {
    const violations = await checkReadProgress(dataDir, events)
    if (violations.length === 0 || performance.now() > end) return violations
  }
}
