import { setTimeout as sleep } from 'node:timers/promises'
import { payFromNode } from '@penstock/cluster/regtest/pay-from-node.ts'
import { startRegtest } from '../../support/regtest.ts'
import type { ChaosReport } from '../command.ts'
import { countNames } from '../counts.ts'
import { openFold } from '../../support/invariants/fold.ts'
import { createRetryingClient } from '../retrying-client.ts'
import { runWorkload } from '../workload.ts'
import { planRound } from '../round-plan.ts'
import { checkPurchases } from '../../support/invariants/purchases.ts'
import { type SeededRandom, createSeededRandom, deriveSeed } from '../random.ts'
import { runToLastHeight, type LastHeightResult } from './last-height.ts'
import { checkLightning, type LightningCampaignState } from './final-checks.ts'
import { createGuardedMiner } from './guarded-miner.ts'
import {
  planLightningFaults,
  withPayingEnds,
  formatLightningFault,
  formatLastHeightPlan,
  planLastHeightRun,
} from './fault-plan.ts'
import { injectLightningFaults } from './inject-faults.ts'
import { type LightningCoverage, measureLightningCoverage } from './coverage.ts'
import { readLndBalances } from './balances.ts'

/** Timeouts that are short enough for every final status within a round, and long enough for sales between two faults. */
const lightningSettings = {
  PENSTOCK_OPEN_WINDOW_SECONDS: '45',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '60',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '40',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '10',
  PENSTOCK_LEASE_BLOCKS: '400',
  PENSTOCK_LOG_LEVEL: 'error',
}
const ORDERS = 4
const DURATION_MS = 20_000
const RETRY_FOR_MS = 60_000
/** In rounds 1, 4, 7 and so on, two payments are held up to their last height. */
const LAST_HEIGHT_EVERY = 3

export type LightningReport = ChaosReport & { readonly coverage: LightningCoverage }

/**
 * Runs rounds on one network of lnd nodes. Each round kills processes and re-organises the chain while orders run, and ends
 * with all checks. @returns after `rounds` rounds, or after the first round with a violation
 */
export async function* runLightningCampaign(dataDir: string, seed: number, rounds: number): AsyncGenerator<LightningReport> {
  const regtest = await startRegtest(dataDir, lightningSettings)
  const fold = openFold(dataDir)
  try {
    const context = {
      regtest,
      fold,
      miner: createGuardedMiner(regtest.network),
      initialBalances: await readLndBalances(regtest.network),
    }
    for (let round = 1; round <= rounds; round++) {
      const report = await runRound(context, deriveSeed(seed, round), round)
      yield report
      if (report.violations.length > 0) return
    }
  } finally {
    await fold.close()
    await regtest.stop()
  }
}

async function runRound(context: LightningCampaignState, seed: number, round: number): Promise<LightningReport> {
  const startedAt = performance.now()
  const { regtest, fold } = context
  const { network } = regtest
  const random = createSeededRandom(seed)
  const listAliases = (role: 'buyer' | 'seller') => network.nodesWithRole(role).map(({ alias }) => alias)
  const participants = { market: 'market', buyers: listAliases('buyer'), sellers: listAliases('seller') }
  const purchases = withPayingEnds(
    planRound(random, participants, { orders: ORDERS, durationMs: DURATION_MS }).purchases,
    DURATION_MS,
  )
  const plannedFaults = planLightningFaults(random, { durationMs: DURATION_MS, sellers: participants.sellers })
  const buyers = network.nodesWithRole('buyer').map(({ alias, lnd, info }) => ({
    alias,
    pubkey: info.pubkey,
    uri: `${info.pubkey}@${lnd.socket}`,
  }))
  const lastHeightPlans = round % LAST_HEIGHT_EVERY === 1 ? [planLastHeightRun(random, participants.buyers)] : []
  const lastHeightResults: LastHeightResult[] = []
  for (const lastHeightPlan of lastHeightPlans) lastHeightResults.push(await runToLastHeight(context, lastHeightPlan))
  const stop = new AbortController()
  const mining = mineAtRandom(context, random, stop.signal)
  const [{ boughtIds, refusals }, kills] = await Promise.all([
    runWorkload(
      createRetryingClient(regtest),
      { purchases, networkChanges: [] },
      buyers,
      DURATION_MS + RETRY_FOR_MS,
      (_, invoice, { alias }) => payFromNode(network, network.nodeByAlias(alias), invoice),
    ),
    injectLightningFaults(context, plannedFaults),
  ])
  stop.abort()
  await mining
  const { orders, faults: violations } = await checkLightning(context)
  return {
    round,
    plannedFaults: [...lastHeightPlans.flatMap(formatLastHeightPlan), ...plannedFaults.map(formatLightningFault)],
    invoiceCount: boughtIds.length,
    refusals,
    seconds: (performance.now() - startedAt) / 1000,
    coverage: measureLightningCoverage(
      fold.events,
      kills,
      lastHeightResults.map(({ run }) => run),
    ),
    statuses: countNames(orders.map(({ status }) => status ?? 'no order')),
    violations: [...lastHeightResults.flatMap((one) => one.faults), ...checkPurchases(ORDERS, boughtIds, orders), ...violations],
  }
}

/** Mines blocks at random intervals of 0.2 to 3 s. */
async function mineAtRandom({ miner }: LightningCampaignState, random: SeededRandom, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(random.between(200, 3000), undefined, { signal: stop }).catch(() => undefined) // Aborted at the end of the round.
    if (!stop.aborted) await miner.mine()
  }
}
