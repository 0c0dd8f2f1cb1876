import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { owners } from '@penstock/runtime/owners.ts'
import { simNodes } from '../../harness/buyer.ts'
import { startCluster, type TestCluster } from '../../harness/cluster.ts'
import { calm } from '../calm.ts'
import { type Report, counted } from '../command.ts'
import { foldOver } from '../fold.ts'
import { marketMsat } from '../look.ts'
import { asProduct, patientCaller } from '../patient.ts'
import { act } from '../people.ts'
import { planOf } from '../plan.ts'
import { doorFaults, purchaseFaults } from '../purchases.ts'
import { seeded, seedOf } from '../random.ts'
import { strike } from './blows.ts'
import { lookAtCluster } from './look.ts'
import { type Blow, blowsOf, told } from './plan.ts'

/** Short windows, so that every ending is reached within a round; long enough to sell something between two blows. */
const env = {
  // A slow machine is no reason to withdraw an order.
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

export type ClusterExtent = {
  readonly orders: number
  readonly longMs: number
  readonly freezeMs: number
  readonly replicas: number
}
export const standardExtent: ClusterExtent = { orders: 20, longMs: 25_000, freezeMs: 20_000, replicas: 2 }

/** Of the plan, what really came. */
export type ClusterReport = Report & { readonly dealt: readonly Blow[] }

/**
 * Rounds on one cluster, each with blows under running orders and with a look at everything in its end.
 * @returns when `rounds` are over or the first one has a fault
 */
export async function* clusterCampaign(
  dataDir: string,
  seed: number,
  rounds: number,
  extent: ClusterExtent = standardExtent,
): AsyncGenerator<ClusterReport> {
  const cluster = await startCluster(dataDir, { replicas: extent.replicas, env })
  const store = await postgresEventStore({ logs: owners, url: cluster.postgresUrl })
  const fold = foldOver(store)
  try {
    const world = { cluster, store, fold, beforeMsat: await marketMsat(cluster) }
    for (let round = 1; round <= rounds; round++) {
      const report = await oneRound(world, seedOf(seed, round), round, extent)
      yield report
      if (report.faults.length > 0) return
    }
  } finally {
    await fold.close()
    await cluster.stop()
  }
}

type World = Parameters<typeof lookAtCluster>[1] & { readonly cluster: TestCluster }

async function oneRound(world: World, seed: number, round: number, extent: ClusterExtent): Promise<ClusterReport> {
  const begun = performance.now()
  const { cluster } = world
  const nodes = await simNodes(asProduct(cluster))
  const aliases = (role: string): readonly string[] => nodes.filter((node) => node.role === role).map(({ alias }) => alias)
  const random = seeded(seed)
  const people = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const plan = planOf(random, people, extent)
  // Who guards the money stands still once in every campaign.
  const blows = blowsOf(random, { ...extent, ...(round === 1 && { frozen: 'settlement' }) })
  const after = calm()
  const [{ bought, refusals }, dealt] = await Promise.all([
    act(patientCaller(cluster, after), plan, nodes, extent.longMs + extent.freezeMs),
    strike(cluster, blows).finally(() => after.begin(cluster)),
  ])
  const behave = (alias: string) => cluster.operator('POST', '/sim/behave', { alias, how: 'ok' })
  await patientCaller(cluster).call(
    async () => Promise.all(['market', ...aliases('seller')].map(behave)),
    performance.now() + PATIENCE_MS,
  )
  const { books, faults } = await lookAtCluster(cluster, world)
  const sales = [...purchaseFaults(extent.orders, bought, books), ...doorFaults(round, books)]
  return {
    round,
    plan: blows.map(told),
    dealt,
    invoices: bought.length,
    refusals,
    seconds: (performance.now() - begun) / 1000,
    statuses: counted(books.map(({ status }) => status ?? 'no order')),
    faults: [...sales, ...faults],
  }
}

const PATIENCE_MS = 60_000
