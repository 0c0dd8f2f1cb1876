import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HeightRange } from '../support/invariants/uptime.ts'
import { openFold } from '../support/invariants/fold.ts'
import { readMarketMsat } from '../support/invariants/balances.ts'
import { checkEverything } from '../support/invariants/check-everything.ts'
import { readNetworkBlocks, readNetworkHeight } from '../support/invariants/network-state.ts'
import { buyChannel } from '../support/market-client.ts'
import { makeTempFolder, spawnProduct, startProduct } from '../support/product.ts'
import { isShortProof } from '../support/short-proof.ts'
import { type CrashCase, listCrashCases } from './cases.ts'
import { findCancelledByNode } from './cancelled-by-node.ts'
import { type ScenarioProgress, crashScenarios, type CrashScenarioName } from './scenarios.ts'

const env = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0.15',
  PENSTOCK_OPEN_WINDOW_SECONDS: '2',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '10',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '12',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_SERVICE_KEY_PER_MINUTE: '0',
  PENSTOCK_WEBHOOK_ALLOW_LOOPBACK: '1',
  PENSTOCK_WEBHOOK_WAITS_SECONDS: '1,1,1,2,2,2,2',
}
const PAYABLE = { ...env, PENSTOCK_INVOICE_EXPIRY_SECONDS: '3600' }
/** Timeouts of the scenarios in which no seller is late. They are long, so that they do not expire on a slow machine. */
const LONG_TIMEOUTS = {
  ...PAYABLE,
  PENSTOCK_OPEN_WINDOW_SECONDS: '20',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '60',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '60',
}
const SCENARIOS_WITH_LATE_SELLER: readonly CrashScenarioName[] = ['failover', 'nobody opens', 'funding vanishes']
const VISIT_WITHIN_MS = 180_000
/** A short run takes every fifth case. */
const cases = listCrashCases().filter((_, index) => !isShortProof || index % 5 === 0)

const warmFolder = makeTempFolder()
let beforeMsat = 0n
const results = new Map<CrashCase, string>()

// Sellers join only once, so every case starts with a copy of a market that they have joined.
beforeAll(async () => {
  const product = await startProduct(warmFolder, PAYABLE)
  beforeMsat = await readMarketMsat(product)
  await buyChannel(product)
  assert.equal(await product.stop(), 0)
})
afterAll(() => {
  console.log(formatResults())
})

describe.concurrent('a market that is killed at a crash point recovers', () => {
  test.each(cases)('$crashPoint during "$scenario"', { timeout: 900_000 }, async (crashCase) => {
    const startedAt = performance.now()
    results.set(crashCase, 'FAILED')
    const settings =
      crashCase.scenario === 'not paid' ? env : SCENARIOS_WITH_LATE_SELLER.includes(crashCase.scenario) ? PAYABLE : LONG_TIMEOUTS
    const crash = await runUntilCrash(crashCase, settings)
    if (!crash) results.set(crashCase, 'NEVER VISITED')
    assert.ok(crash, `the point ${crashCase.crashPoint} was never visited`)

    const { dataDir, uptime, reached } = crash
    const product = await startProduct(dataDir, settings)
    const back = readNetworkHeight(dataDir)
    const uptimeUntil = (height: number): readonly HeightRange[] => [...uptime, { from: back, to: height }]
    const fold = openFold(dataDir)
    try {
      await crashScenarios[crashCase.scenario](product, reached)
      const { orders, violations } = await checkEverything(product, fold, beforeMsat, { uptime: uptimeUntil })
      expect([
        ...violations,
        ...findCancelledByNode(orders, readNetworkBlocks(dataDir), uptimeUntil(readNetworkHeight(dataDir))),
      ]).toEqual([])
    } finally {
      await fold.close()
      await product.kill()
      await reached.receivers?.stop()
    }
    results.set(crashCase, `${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  })
})

type CrashResult = { readonly visited: boolean; readonly uptime: readonly HeightRange[] }

/** A scenario is repeated if it misses the crash point. For example, the node may end an expired invoice before the market. */
const MAX_RUNS = 3

/** Runs the scenario, up to `MAX_RUNS` times, until the process crashes at the point. @returns undefined if it never does */
async function runUntilCrash(crashCase: CrashCase, settings: Readonly<Record<string, string>>) {
  for (let run = 0; run < MAX_RUNS; run++) {
    const [dataDir, reached]: [string, ScenarioProgress] = [makeTempFolder(), {}]
    if (!crashCase.isFreshMarket) cpSync(warmFolder, dataDir, { recursive: true })
    const { visited, uptime } = await runCrashCase(crashCase, dataDir, settings, reached)
    if (visited) return { dataDir, reached, uptime }
    await reached.receivers?.stop()
  }
  return undefined
}

/** Runs the scenario once. `visited`: the process crashed at the point. `lived`: the heights at which the process was up. */
async function runCrashCase(
  { crashPoint, scenario }: CrashCase,
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  reached: ScenarioProgress,
): Promise<CrashResult> {
  const crashing = spawnProduct(dataDir, { ...settings, PENSTOCK_TEST_CRASH_AT: crashPoint })
  const ended = new AbortController()
  const up = crashing.ready.then(() => readNetworkHeight(dataDir)).catch(() => undefined)
  // The crash makes the next call of the scenario fail. `reached` then contains the progress until the crash.
  const finished = crashing.ready.then((product) => crashScenarios[scenario](product, reached)).catch(() => undefined)
  const timedOut = new Promise<null>((resolve) => {
    const timer = setTimeout(() => resolve(null), VISIT_WITHIN_MS)
    ended.signal.addEventListener('abort', () => clearTimeout(timer))
  })
  const end = await Promise.race([crashing.ended, finished.then(() => waitForCrash(crashing.ended)), timedOut])
  ended.abort()
  await crashing.kill()
  await finished
  const from = await up
  const uptime = from === undefined ? [] : [{ from, to: readNetworkHeight(dataDir) }]
  return { visited: end?.signal === 'SIGKILL', uptime }
}

/** Waits up to 5 s for the crash, because the market may reach the crash point shortly after the end of the scenario. */
const waitForCrash = (ended: Promise<{ readonly signal: string | null }>): Promise<{ readonly signal: string | null } | null> =>
  Promise.race([ended, new Promise<null>((resolve) => setTimeout(() => resolve(null), 5000))])

function formatResults(): string {
  const rows = [...results].map(([{ crashPoint, scenario }, result]) => [crashPoint, scenario, result] as const)
  const widthOf = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length))
  const lines = rows.map(([point, name, result]) => `${point.padEnd(widthOf(0))}  ${name.padEnd(widthOf(1))}  ${result}`)
  return `\nCrash point, scenario, and time until everything was checked:\n${lines.toSorted().join('\n')}\n`
}
