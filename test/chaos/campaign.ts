import { join } from 'node:path'
import { type SimulatedNode, listSimNodes } from '../support/market-client.ts'
import { type Product, startProduct } from '../support/product.ts'
import { type HeightRange, subtractRanges } from '../support/invariants/uptime.ts'
import type { NodeBalances } from '../support/invariants/balances.ts'
import { buildOrderModels, isSettledWithoutPeerProof } from '../support/invariants/order-model.ts'
import type { ChaosReport } from './command.ts'
import { countNames } from './counts.ts'
import { type Fold, openFold } from '../support/invariants/fold.ts'
import { openFoldOfServer } from '../support/invariants/fold-of-server.ts'
import { readMarketMsat } from '../support/invariants/balances.ts'
import { checkEverything } from '../support/invariants/check-everything.ts'
import { type RestartableMarket, createRestartableMarket } from './restartable-market.ts'
import type { DoubleProcess } from '../kurrentdb/double/process.ts'
import { isOrderOpen } from '../support/invariants/orders.ts'
import { runWorkload, type IsBehaviourShown } from './workload.ts'
import { chooseSellerBehaviour, type RoundPlan, planRound, standardRoundSize } from './round-plan.ts'
import { createSeededRandom, deriveSeed } from './random.ts'
import { planStoreFaults, startStoreDouble, injectStoreFaults } from './store-faults.ts'
import { type ChaosCoverage, measureChaosCoverage } from './coverage.ts'
import { isBehaviourShownSince, findSilences, type BehaviourEntry } from './behaviour-log.ts'
import { setAndLogBehaviour } from './set-behaviour.ts'
import { readNetworkHeight } from '../support/invariants/network-state.ts'

/** Short timeouts, so that orders reach every final status within a round. */
const settings = {
  // On a slow machine `buy` takes long, and a short timeout would withdraw its order.
  PENSTOCK_BUY_ANSWER_SECONDS: '30',
  PENSTOCK_SIM_BLOCK_SECONDS: '0.15',
  PENSTOCK_OPEN_WINDOW_SECONDS: '2',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '30',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '10',
  PENSTOCK_LEASE_BLOCKS: '100',
  PENSTOCK_LOG_LEVEL: 'error',
}

export type RoundReport = ChaosReport & {
  readonly coverage: ChaosCoverage
  readonly balances: NodeBalances
  /** Height ranges of all rounds so far in which the market was up and its node answered. */
  readonly uptime: readonly HeightRange[]
  /** Number of holds that were settled at their last height without a peer proof, by a rails seller's signature and the chain. */
  readonly settledWithoutPeerProof: number
  /** Kinds of the faults of the event store; empty unless the store is a server. */
  readonly storeFaults: readonly string[]
}

/**
 * Runs rounds on one data folder. Each round kills the market several times and ends with all final checks.
 * @param store the event store: SQLite in the folder, or a test double of KurrentDB, into which faults are injected too
 * @returns after `rounds` rounds, or after the first round with a violation
 */
export async function* runCampaign(
  dataDir: string,
  seed: number,
  rounds: number,
  store: StoreName = 'folder',
): AsyncGenerator<RoundReport> {
  const double = store === 'kurrentdb' ? await startStoreDouble(join(dataDir, 'double.log')) : undefined
  try {
    yield* runRounds(
      { dataDir, double, env: double ? { ...settings, PENSTOCK_EVENT_STORE: double.url } : settings },
      seed,
      rounds,
    )
  } finally {
    await double?.stop()
  }
}

export const STORE_NAMES = ['folder', 'kurrentdb'] as const
type StoreName = (typeof STORE_NAMES)[number]

type CampaignTarget = Pick<CampaignState, 'dataDir' | 'double' | 'env'>

async function* runRounds(target: CampaignTarget, seed: number, rounds: number): AsyncGenerator<RoundReport> {
  const { dataDir, env, double } = target
  const firstProduct = await startProduct(dataDir, env)
  const nodes = await listSimNodes(firstProduct)
  const initialMsat = await readMarketMsat(firstProduct)
  await firstProduct.kill()
  const fold = double ? await openFoldOfServer(dataDir) : openFold(dataDir)
  const state: CampaignState = { ...target, fold, nodes, initialMsat, behaviourLog: [], uptime: [] }
  try {
    for (let round = 1; round <= rounds; round++) {
      const report = await runRound(state, deriveSeed(seed, round), round)
      yield report
      if (report.violations.length > 0) return
    }
  } finally {
    await fold.close()
  }
}

type CampaignState = {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly double: DoubleProcess | undefined
  readonly fold: Fold
  readonly nodes: readonly SimulatedNode[]
  readonly initialMsat: bigint
  /** The entries of all rounds. */
  readonly behaviourLog: BehaviourEntry[]
  readonly uptime: HeightRange[]
}

async function runRound(state: CampaignState, seed: number, round: number): Promise<RoundReport> {
  const { dataDir, env, double, fold, nodes, initialMsat, behaviourLog, uptime } = state
  const startedAt = performance.now()
  const aliases = (role: string): readonly string[] => nodes.filter((node) => node.role === role).map(({ alias }) => alias)
  const participants = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const plan = planRound(createSeededRandom(seed), participants, {
    ...standardRoundSize,
    sellerBehaviour: chooseSellerBehaviour(round),
  })
  const market = createRestartableMarket(dataDir, env)
  const isBehaviourShown: IsBehaviourShown = async (how, sinceMs) => {
    await fold.catchUp()
    return isBehaviourShownSince(fold.events, how, sinceMs)
  }
  // Store faults have their own seed, so the rest of a round is the same for every store.
  const plannedStoreFaults = double ? planStoreFaults(createSeededRandom(deriveSeed(seed, 1)), standardRoundSize.durationMs) : []
  const [workload, { product, openOrdersAtKills }, storeFaults] = await Promise.all([
    runWorkload(market, plan, nodes, undefined, undefined, isBehaviourShown),
    killRepeatedly(market, plan, fold),
    double ? injectStoreFaults(double, plannedStoreFaults) : [],
  ])
  const { boughtIds, refusals } = workload
  behaviourLog.push(...workload.behaviourLog)
  for (const alias of ['market', ...aliases('seller')])
    behaviourLog.push(await setAndLogBehaviour((request) => request(product), { alias, behaviour: 'ok' }))
  const uptimeUntil = (height: number): readonly HeightRange[] =>
    subtractRanges(market.uptime(), findSilences(behaviourLog, 'market', height))
  const result = await checkEverything(product, fold, initialMsat, {
    uptime: (height) => [...uptime, ...uptimeUntil(height)],
    sales: { round, plannedCount: plan.purchases.length, boughtIds, refusals },
  })
  uptime.push(...uptimeUntil(readNetworkHeight(dataDir)))
  const { orders, pendingWork, balances, violations } = result
  return {
    round,
    plannedFaults: plan.networkChanges.flat().map(({ atMs, ...change }) => `${atMs / 1000} s ${Object.values(change).join(' ')}`),
    coverage: measureChaosCoverage(
      fold.events,
      openOrdersAtKills,
      behaviourLog,
      (pubkey) => nodes.find((node) => node.pubkey === pubkey)?.alias,
    ),
    balances,
    uptime: [...uptime],
    invoiceCount: boughtIds.length,
    refusals,
    seconds: (performance.now() - startedAt) / 1000,
    storeFaults,
    settledWithoutPeerProof: orders.filter(isSettledWithoutPeerProof).length,
    statuses: countNames([
      ...orders.map(({ status }) => status ?? 'no order'),
      ...pendingWork.map(({ party, stream, step }) => `wait for ${stripOrderId(party ?? `${stream}: ${step}`)}`),
    ]),
    violations,
  }
}

type KillResult = { readonly product: Product; readonly openOrdersAtKills: readonly number[] }

async function killRepeatedly(market: RestartableMarket, { uptimesMs }: RoundPlan, fold: Fold): Promise<KillResult> {
  const openOrdersAtKills: number[] = []
  const earlierIds = new Set(buildOrderModels(fold.events).map(({ id }) => id))
  const countOpenOrders = async (): Promise<number> => {
    await fold.catchUp()
    return buildOrderModels(fold.events).filter((order) => !earlierIds.has(order.id) && isOrderOpen(order)).length
  }
  for (const [at, uptimeMs] of uptimesMs.entries()) {
    // At least one kill of each round must happen while an order is open. If none did, the last kill waits for an open order.
    const isLastKill = at === uptimesMs.length - 1 && !openOrdersAtKills.some((openOrders) => openOrders > 0)
    await market.runFor(uptimeMs, isLastKill ? async () => (await countOpenOrders()) > 0 : undefined)
    openOrdersAtKills.push(await countOpenOrders())
  }
  return { product: await market.startToStay(), openOrdersAtKills }
}

const stripOrderId = (text: string): string => text.replace(/order [0-9a-f-]{36}/, 'an order')
