import { withDecisionProof } from '../../support/invariants/prove-decision.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import type { TestRegtest } from '../../support/regtest.ts'
import { type OrderModel, buildOrderModels } from '../../support/invariants/order-model.ts'
import { findUnexpectedExits } from '../../support/invariants/unexpected-exits.ts'
import type { Fold } from '../../support/invariants/fold.ts'
import { checkRecords, checkWallets } from '../../support/invariants/final-checks.ts'
import { checkReadModels } from '../../support/invariants/read-models.ts'
import { waitForQuiescence } from '../../support/invariants/quiescence.ts'
import type { GuardedMiner } from './guarded-miner.ts'
import { readLightningState } from './network-state.ts'
import { toNodeBalances, type LndBalances, readLndBalances, computeFundsSince } from './balances.ts'

export type LightningCampaignState = {
  readonly regtest: TestRegtest
  readonly fold: Fold
  readonly miner: GuardedMiner
  /** The balance of each node before the first order. */
  readonly initialBalances: LndBalances
}

const QUIESCENCE_TIMEOUT_MS = 300_000
const RETRY_FOR_MS = 30_000

/** Mines blocks until quiescence, and checks facts, money, nodes and read models. */
export async function checkLightning(
  state: LightningCampaignState,
): Promise<{ readonly orders: readonly OrderModel[]; readonly faults: readonly string[] }> {
  const { regtest, fold, miner } = state
  const pendingWork = await waitForQuiescence({
    fold,
    readNetworkState: () => readLightningState(regtest.network),
    mine: () => miner.mine(),
    decide: (order, decision) =>
      regtest.operator('POST', `/payouts/${order}/decide`, withDecisionProof(regtest.dataDir, order, decision)),
    mineAfterMs: 0,
    timeoutMs: QUIESCENCE_TIMEOUT_MS,
  })
  const orders = buildOrderModels(fold.events)
  const auditReport = await verifyStore(regtest.dataDir)
  const violations = [
    ...(await retryUntilClean(async () => {
      const parked = await regtest.operator<readonly object[]>('GET', '/parked')
      return checkRecords({ pendingWork, orders, parked, auditReport })
    })),
    ...(await retryUntilClean(async () => checkNodeMoney(state))),
    ...(await retryUntilClean(async () => {
      await fold.catchUp()
      return checkReadModels(regtest.dataDir, fold.events)
    })),
    ...miner.violations,
    ...findUnexpectedExits(regtest.lines),
  ]
  return { orders, faults: violations }
}

async function checkNodeMoney({
  regtest: { network },
  fold,
  initialBalances,
}: LightningCampaignState): Promise<readonly string[]> {
  await fold.catchUp()
  const orders = buildOrderModels(fold.events)
  const [networkState, balances] = [await readLightningState(network), await readLndBalances(network)]
  const readMarketMsat = (nodes: LndBalances): bigint =>
    nodes.find(({ pubkey }) => pubkey === networkState.marketPubkey)?.balanceMsat ?? 0n
  const gainedMsat = readMarketMsat(balances) - readMarketMsat(initialBalances)
  return checkWallets({
    orders,
    networkState,
    gainedMsat,
    nodeFunds: computeFundsSince(initialBalances, balances),
    balances: toNodeBalances(balances),
  })
}

/** Retries a check for up to 30 s, because nodes and read models may lag behind the facts. @returns the last violations */
async function retryUntilClean(check: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (const end = performance.now() + RETRY_FOR_MS; ; await sleep(500)) {
    const violations = await check().catch((error: unknown) => [`the check failed: ${String(error)}`])
    if (violations.length === 0 || performance.now() > end) return violations
  }
}
