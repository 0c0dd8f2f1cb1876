import { withDecisionProof } from '../../support/invariants/prove-decision.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { verifyLog } from '@penstock/audit/verify.ts'
import { openPepper } from '@penstock/credentials/pepper.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import type { TestCluster } from '../../support/cluster.ts'
import { type OrderModel, buildOrderModels } from '../../support/invariants/order-model.ts'
import { findUnexpectedExits } from '../../support/invariants/unexpected-exits.ts'
import type { Fold } from '../../support/invariants/fold.ts'
import { readMarketMsat } from '../../support/invariants/balances.ts'
import { checkRecords, checkWallets } from '../../support/invariants/final-checks.ts'
import { readStableNetwork } from '../../support/invariants/network-snapshot.ts'
import { compareWithFold, type ReadRows, findUnreadFacts } from '../../support/invariants/read-models.ts'
import { waitForQuiescence } from '../../support/invariants/quiescence.ts'
import { readNetworkState } from '../../support/invariants/network-state.ts'
import type { PendingWork } from '../../support/invariants/pending-work.ts'
import { sql } from 'kysely'

export type ClusterCheckResult = {
  readonly orders: readonly OrderModel[]
  readonly pendingWork: readonly PendingWork[]
  readonly faults: readonly string[]
}

const QUIESCENCE_TIMEOUT_MS = 150_000
const MINE_AFTER_MS = 10_000
/** Longer than the two minutes after which the product recreates a consumer that hangs. */
const READ_TIMEOUT_MS = 150_000
const QUIET_TIMEOUT_MS = 240_000
/** Contains the output of all processes. */
const OUTPUT_FILE = 'said.log'

/** Waits for quiescence, and checks the facts, money, read models and processes of the cluster. */
export async function checkCluster(
  cluster: TestCluster,
  { store, fold, beforeMsat }: { readonly store: EventStore; readonly fold: Fold; readonly beforeMsat: bigint },
): Promise<ClusterCheckResult> {
  const hasSucceeded = (request: () => Promise<unknown>) => () =>
    request().then(
      () => true,
      () => false,
    )
  await waitUntil(
    'the gateways answer',
    hasSucceeded(() => readMarketMsat(cluster)),
    60_000,
    250,
  )
  await waitUntil(
    'the store answers',
    hasSucceeded(() => fold.catchUp()),
    60_000,
    250,
  )
  const pendingWork = await waitForQuiescence({
    fold,
    readNetworkState: async () => readNetworkState(cluster.dataDir),
    mine: async (maxBlocks) => maxBlocks > 0 && cluster.operator('POST', '/sim/mine', { blocks: Math.min(maxBlocks, 3) }),
    decide: (order, decision) =>
      cluster.operator('POST', `/payouts/${order}/decide`, withDecisionProof(cluster.dataDir, order, decision)),
    mineAfterMs: MINE_AFTER_MS,
    timeoutMs: QUIESCENCE_TIMEOUT_MS,
  })
  const readModelViolations = await checkClusterReadModels(cluster, fold)
  const { state: networkState, nodeFunds, balances } = await readStableNetwork(cluster)
  const gainedMsat = (balances.get('market') ?? 0n) - beforeMsat
  const parked = await cluster.operator<readonly object[]>('GET', '/parked')
  const auditReport = await verifyLog(store, createStreamServices(), {})
  const orders = buildOrderModels(fold.events)
  const violations = [
    ...checkRecords({ pendingWork, orders, parked, auditReport }),
    ...checkWallets({ orders, networkState, gainedMsat, nodeFunds, balances }),
    ...readModelViolations,
    ...findUnexpectedExits(cluster.lines),
  ]
  if (violations.length > 0) writeFileSync(join(cluster.dataDir, OUTPUT_FILE), cluster.lines.join('\n'))
  return { orders, pendingWork, faults: violations }
}

/**
 * Waits until the read models match the folded streams. New facts prolong the wait, because read models may apply them first.
 * @returns the violations that remain after the wait
 */
async function checkClusterReadModels({ postgresUrl, dataDir }: TestCluster, fold: Fold): Promise<readonly string[]> {
  const views = openPostgresViews({ url: postgresUrl, schema: 'check' })
  try {
    const rows: ReadRows = async (text) => (await sql.raw<Record<string, unknown>>(text).execute(views.db)).rows
    const pepper = await openPepper(dataDir)
    const startedAt = performance.now()
    for (;;) {
      await fold.catchUp()
      const violations = [...(await findUnreadFacts(rows, fold.events)), ...(await compareWithFold(rows, pepper, fold.events))]
      const knownCount = fold.events.length
      await fold.catchUp()
      const waited = performance.now() - startedAt
      const hasTimedOut = waited > (fold.events.length === knownCount ? READ_TIMEOUT_MS : QUIET_TIMEOUT_MS)
      if (violations.length === 0 || hasTimedOut) return violations
      await sleep(1000)
    }
  } finally {
    await views.close()
  }
}
