import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import { listSimNodes } from '../../support/market-client.ts'
import { startCluster, type TestCluster } from '../../support/cluster.ts'
import { createRetryDeadline } from '../retry-deadline.ts'
import type { ChaosReport } from '../command.ts'
import { countNames } from '../counts.ts'
import { createFold } from '../../support/invariants/fold.ts'
import { readMarketMsat } from '../../support/invariants/balances.ts'
import { asProduct, createRetryingClient } from '../retrying-client.ts'
import { runWorkload } from '../workload.ts'
import { planRound } from '../round-plan.ts'
import { checkPurchaseApis, checkPurchases } from '../../support/invariants/purchases.ts'
import { createSeededRandom, deriveSeed } from '../random.ts'
import { injectClusterFaults } from './inject-faults.ts'
import { checkCluster } from './final-checks.ts'
import { type ClusterFault, planClusterFaults, formatClusterFault } from './fault-plan.ts'
import { type ClusterRoundSize, standardClusterRoundSize } from './round-size.ts'

/** Timeouts that are short enough for every final status within a round, and long enough for sales between two faults. */
const clusterSettings = {
  // On a slow machine `buy` takes long, and a short timeout would withdraw its order.
  PENSTOCK_BUY_ANSWER_SECONDS: '30',
  PENSTOCK_SIM_BLOCK_SECONDS: '0.5',
  PENSTOCK_OPEN_WINDOW_SECONDS: '12',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '60',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '40',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '10',
  PENSTOCK_LEASE_BLOCKS: '400',
  PENSTOCK_LOG_LEVEL: 'warn',
}

/** `injected`: the planned faults whose injection succeeded. */
export type ClusterReport = ChaosReport & { readonly injected: readonly ClusterFault[] }

/**
 * Runs rounds on one cluster. Each round injects faults while orders run, and ends with all checks.
 * @returns after `rounds` rounds, or after the first round with a violation
 */
export async function* runClusterCampaign(
  dataDir: string,
  seed: number,
  rounds: number,
  size: ClusterRoundSize = standardClusterRoundSize,
): AsyncGenerator<ClusterReport> {
  const cluster = await startCluster(dataDir, { replicas: size.replicas, env: clusterSettings })
  const store = await postgresEventStore({ logs: categoryOwners, url: cluster.postgresUrl })
  const fold = createFold(store)
  try {
    const state = { cluster, store, fold, beforeMsat: await readMarketMsat(cluster) }
    for (let round = 1; round <= rounds; round++) {
      const report = await runRound(state, deriveSeed(seed, round), round, size)
      yield report
      if (report.violations.length > 0) return
    }
  } finally {
    await fold.close()
    await cluster.stop()
  }
}

type ClusterCampaignState = Parameters<typeof checkCluster>[1] & { readonly cluster: TestCluster }

async function runRound(
  state: ClusterCampaignState,
  seed: number,
  round: number,
  size: ClusterRoundSize,
): Promise<ClusterReport> {
  const startedAt = performance.now()
  const { cluster } = state
  const nodes = await listSimNodes(asProduct(cluster))
  const aliases = (role: string): readonly string[] => nodes.filter((node) => node.role === role).map(({ alias }) => alias)
  const random = createSeededRandom(seed)
  const participants = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const plan = planRound(random, participants, size)
  // The first round always freezes a process of settlement, because settlement must act on holds in time.
  const plannedFaults = planClusterFaults(random, { ...size, ...(round === 1 && { frozenService: 'settlement' }) })
  const retryDeadline = createRetryDeadline(SELLS_WITHIN_MS)
  const [{ boughtIds, refusals }, injected] = await Promise.all([
    runWorkload(createRetryingClient(cluster, retryDeadline), plan, nodes, size.durationMs + size.freezeMs),
    injectClusterFaults(cluster, plannedFaults).finally(() => retryDeadline.startWhenSelling(cluster)),
  ])
  const behaveNormally = (alias: string) => cluster.operator('POST', '/sim/behave', { alias, how: 'ok' })
  await createRetryingClient(cluster).call(
    async () => Promise.all(['market', ...aliases('seller')].map(behaveNormally)),
    performance.now() + RETRY_FOR_MS,
  )
  const { orders, faults: violations } = await checkCluster(cluster, state)
  const salesViolations = [...checkPurchases(size.orders, boughtIds, orders), ...checkPurchaseApis(round, orders)]
  return {
    round,
    plannedFaults: plannedFaults.map(formatClusterFault),
    injected,
    invoiceCount: boughtIds.length,
    refusals,
    seconds: (performance.now() - startedAt) / 1000,
    statuses: countNames(orders.map(({ status }) => status ?? 'no order')),
    violations: [...salesViolations, ...violations],
  }
}

const RETRY_FOR_MS = 60_000
/** After the last fault, processes restart and join their consumer groups again before the cluster sells. */
const SELLS_WITHIN_MS = 150_000
