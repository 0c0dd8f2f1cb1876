import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { resolveMarketAddress } from '@penstock/cli/load/market/market-address.ts'
import { type CurveLoad, toCurveLoad } from '@penstock/cli/load/curve/curve-load.ts'
import { LOAD_FACTORS } from '@penstock/cli/load/curve/measure-curve.ts'
import { measureRecovery } from '@penstock/cli/load/curve/recovery.ts'
import { processClock } from '@penstock/cli/load/load-clock.ts'
import type { LatencyStep } from '@penstock/cli/load/measurements/latency-meter.ts'
import { type LoadOutcome, runLoad } from '@penstock/cli/load/run-load.ts'
import type { LoadSettings } from '@penstock/cli/load/settings.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { findBuyer } from '../../../test/support/market-client.ts'
import type { TestCluster } from '../../../test/support/cluster.ts'
import { openJsonClient } from '../callers.ts'
import { type CpuReport, measureCpu, measureIdleCpu, measureReferenceMs } from './cpu.ts'
import { measureRefusals, type RefusalCpu } from './refusals.ts'

export type OverloadSize = {
  /** Duration of each load; a fast cluster has shorter loads, so that the sellers do not sell out. */
  readonly seconds: number
  readonly callers: number
  /** Duration of the measurement of the idle cluster. */
  readonly idleSeconds: number
}

export type Latency = { readonly p50Ms: number | null; readonly p99Ms: number | null }

/** The outcome of an open loop, which places orders at a given rate without waiting for earlier orders. */
export type OverloadResult = CurveLoad & {
  /** Multiple of the capacity. */
  readonly factor: number
  /** From the due time of an order to its refusal. */
  readonly refusal: Latency
  readonly getOrder: Latency
  readonly settledMs: number | null
}

export type OverloadReport = {
  readonly capacityPerSecond: number
  /** Duration of each load. */
  readonly loadSeconds: number
  readonly loads: readonly OverloadResult[]
  /** The CPU of the lightest load. */
  readonly cpu: CpuReport
  /** From the last order of the heaviest load to normal invoice times; null if they did not return within the limit. */
  readonly recoveryMs: number | null
  readonly refusals: RefusalCpu
}

/** Sales of a load at the capacity. The offers of the sellers last for about 3,000 sales, those of the first measurement included. */
const MAX_LOAD_SALES = 500
const [LIGHTEST] = LOAD_FACTORS
const HEAVIEST = Math.max(...LOAD_FACTORS)
const RECOVERY_LIMIT_MS = 120_000
const SALE_TIMEOUT_MS = 120_000
const DRAIN_MS = 180_000
const QUIET_MS = 45_000
/** Connections of the probes, each of which may be without an answer until the limit. */
const PROBE_CONNECTIONS = RECOVERY_LIMIT_MS / 1000

const BUY_MUTATION = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  order { transaction_id } payment { lightning_invoice } } } }`
const createBuyBody = (uri: string): string =>
  JSON.stringify({ query: BUY_MUTATION, variables: { input: { connection_uri: uri, usd_cents: '500' } } })

/**
 * Measures the capacity: the channels per second that the cluster sells to buyers that each wait for their invoice. Then an
 * open loop places orders at multiples of the capacity. The CPU is measured when the cluster is idle, at the lightest load, and
 * while the cluster refuses every purchase.
 */
export async function measureOverload(cluster: TestCluster, size: OverloadSize): Promise<OverloadReport> {
  const capacityPerSecond = await measureCapacity(cluster, size)
  console.error(`  ${capacityPerSecond.toFixed(2)} a second`)
  const loadSeconds = Math.min(size.seconds, Math.floor(MAX_LOAD_SALES / capacityPerSecond))
  const createSettings = (factor: number) => createLoadSettings(capacityPerSecond * factor, loadSeconds)
  const idle = await measureIdleCpu(cluster, size.idleSeconds * 1000)
  const referenceBeforeMs = measureReferenceMs()
  const loads: OverloadResult[] = []
  const addLoad = (factor: number, outcome: LoadOutcome): OverloadResult => {
    const load = toOverloadResult(factor, outcome)
    console.error(`  ${JSON.stringify(load)}`)
    loads.push(load)
    return load
  }
  const { result, ...window } = await measureCpu(cluster, () => runOpenLoop(cluster, createSettings(LIGHTEST)))
  const lightest = addLoad(LIGHTEST, result)
  const referenceMs = (referenceBeforeMs + measureReferenceMs()) / 2
  const cpu = { idle, load: window, sold: lightest.sold, referenceMs }
  for (const factor of LOAD_FACTORS.slice(1, -1)) addLoad(factor, await runOpenLoop(cluster, createSettings(factor)))
  const { outcome, recoveryMs } = await overloadAndRecover(cluster, createSettings(HEAVIEST), lightest.buyP50Ms ?? 0)
  addLoad(HEAVIEST, outcome)
  await waitForQuiescence(cluster)
  const { uri } = await findBuyer(cluster)
  const refusals = await measureRefusals(cluster, createBuyBody(uri))
  return { capacityPerSecond, loadSeconds, loads, cpu, recoveryMs, refusals }
}

/** Sells at the capacity and at half of it, for a profile of the functions that a sale needs. */
export async function sellForProfile(cluster: TestCluster, size: OverloadSize): Promise<number> {
  const capacityPerSecond = await measureCapacity(cluster, size)
  const outcome = await runOpenLoop(cluster, createLoadSettings(capacityPerSecond * LIGHTEST, size.seconds))
  return capacityPerSecond * size.seconds + outcome.buyerResults.sold
}

/** Runs a load, and places unpaid orders from its last order until the invoice times are normal. */
async function overloadAndRecover(cluster: TestCluster, settings: LoadSettings, normalP50Ms: number) {
  const { uri } = await findBuyer(cluster)
  const client = openJsonClient(`${cluster.url}/graphql`, PROBE_CONNECTIONS)
  const { promise: arrivalsEnd, resolve: endArrivals } = Promise.withResolvers<void>()
  const loading = runOpenLoop(cluster, settings, endArrivals)
  try {
    await Promise.race([arrivalsEnd, loading])
    const { purchases, recoveredMs } = await measureRecovery({
      normalP50Ms,
      buy: async () => (await client.call(createBuyBody(uri)).catch(() => '')).includes('"lightning_invoice":"ln'),
      maxWaitMs: RECOVERY_LIMIT_MS,
      clock: processClock,
      signal: new AbortController().signal,
    })
    console.error(`  ${JSON.stringify(purchases.map(({ ms }) => ms && Math.round(ms)))} ms afterwards`)
    return { outcome: await loading, recoveryMs: recoveredMs }
  } finally {
    client.close()
  }
}

async function measureCapacity(cluster: TestCluster, { seconds, callers }: OverloadSize): Promise<number> {
  const { uri, alias } = await findBuyer(cluster)
  const body = createBuyBody(uri)
  const client = openJsonClient(`${cluster.url}/graphql`, callers)
  const buyOnce = async () => {
    const text = await client.call(body)
    const [, invoice] = /"lightning_invoice":"(ln[^"]+)"/.exec(text) ?? []
    const [, seconds = '1'] = /"retry_after":(\d+)/.exec(text) ?? []
    return { invoice, retryAfterMs: Number(seconds) * 1000 }
  }
  await waitUntil('the first purchase', async () => (await buyOnce()).invoice !== undefined, SALE_TIMEOUT_MS, 250)
  let soldCount = 0
  const endsAt = performance.now() + seconds * 1000
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < endsAt) {
        const { invoice, retryAfterMs } = await buyOnce()
        if (invoice === undefined) {
          // An immediate retry would take time from the admitted buyers.
          await sleep(retryAfterMs)
          continue
        }
        await cluster.operator('POST', '/sim/pay', { invoice, from: alias })
        soldCount++
      }
    }),
  )
  client.close()
  await waitForQuiescence(cluster)
  return soldCount / seconds
}

/** Waits until no balance has changed for `QUIET_MS`. The market pays sellers some blocks after their sales. */
async function waitForQuiescence(cluster: TestCluster): Promise<void> {
  const balances = async (): Promise<string> => JSON.stringify(await cluster.operator('GET', '/sim/balances'))
  let [before, quietSince] = [await balances(), performance.now()]
  const isQuiet = async (): Promise<boolean> => {
    const now = await balances()
    if (now !== before) [before, quietSince] = [now, performance.now()]
    return performance.now() - quietSince > QUIET_MS
  }
  await waitUntil('unchanged balances', isQuiet, DRAIN_MS, 1000)
}

export const createLoadSettings = (ratePerSecond: number, seconds: number): LoadSettings => ({
  orders: Math.ceil(ratePerSecond * seconds),
  ratePerSecond,
  arrivals: 'poisson',
  mix: [{ word: 'buy', percent: 100 }],
  seed: 1,
  durationMs: seconds * 1000,
  privatePercent: 0,
  maxInFlight: 100_000,
  drainMs: DRAIN_MS,
  timeoutMs: 30_000,
  pollMs: 1000,
  to: [],
  sellers: null,
  allowErrors: 0,
  allowUnfinished: false,
  allowShed: false,
})

export async function runOpenLoop(
  { url, dataDir }: TestCluster,
  settings: LoadSettings,
  onArrivalsEnd: () => void = () => undefined,
): Promise<LoadOutcome> {
  const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim()
  const interrupt = new AbortController().signal
  const marketAddress = await resolveMarketAddress(url, false)
  return runLoad({ marketAddress, token, settings, interrupt, progress: () => undefined, onArrivalsEnd })
}

const toOverloadResult = (factor: number, outcome: LoadOutcome): OverloadResult => ({
  factor,
  ...toCurveLoad(outcome),
  refusal: findLatency(outcome, 'refused'),
  getOrder: findLatency(outcome, 'get_order'),
  settledMs: findLatency(outcome, 'settled').p50Ms,
})

function findLatency({ latencies }: LoadOutcome, wantedStep: LatencyStep): Latency {
  const { p50Ms = null, p99Ms = null } = latencies.find(({ step }) => step === wantedStep) ?? {}
  return { p50Ms, p99Ms }
}
