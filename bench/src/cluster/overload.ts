import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { resolveMarketAddress } from '@penstock/cli/load/market/market-address.ts'
import { listFailures, computeGoodput } from '@penstock/cli/load/report/outcome-format.ts'
import { type LoadOutcome, runLoad } from '@penstock/cli/load/run-load.ts'
import type { LoadSettings } from '@penstock/cli/load/settings.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { findBuyer } from '../../../test/support/market-client.ts'
import type { TestCluster } from '../../../test/support/cluster.ts'
import { openJsonClient } from '../callers.ts'

export type OverloadSize = {
  /** Duration of each load. */
  readonly seconds: number
  readonly callers: number
}

/** The outcome of an open loop, which places orders at a given rate without waiting for earlier orders. */
export type OverloadResult = {
  /** Multiple of the capacity. */
  readonly factor: number
  readonly perSecond: number
  readonly due: number
  readonly refused: number
  readonly sold: number
  readonly goodput: number
  /** Orders that were paid, and whose hold was cancelled without a channel. */
  readonly lost: number
  readonly invoiceMs: number | null
  readonly settledMs: number | null
  /** Faults that the load generator found, one sentence each. */
  readonly faults: readonly string[]
}
export type OverloadReport = {
  readonly capacityPerSecond: number
  readonly loads: readonly OverloadResult[]
  /** Median time to an invoice at half the capacity, starting half a minute after the heaviest load. */
  readonly afterwardsMs: number | null
}

const LOAD_FACTORS = [0.5, 1, 2, 4] as const
const RECOVERY_DELAY_MS = 30_000
const SALE_TIMEOUT_MS = 120_000
const DRAIN_MS = 180_000
const QUIET_MS = 45_000

const BUY_MUTATION = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  order { transaction_id } payment { lightning_invoice } } } }`

/**
 * Measures the capacity: the channels per second that the cluster sells to buyers that each wait for their invoice. Then an
 * open loop places orders at multiples of the capacity.
 */
export async function measureOverload(cluster: TestCluster, size: OverloadSize): Promise<OverloadReport> {
  const capacityPerSecond = await measureCapacity(cluster, size)
  console.error(`  ${capacityPerSecond.toFixed(2)} a second`)
  const loads: OverloadResult[] = []
  for (const factor of LOAD_FACTORS) {
    const load = toOverloadResult(factor, await runOpenLoop(cluster, capacityPerSecond * factor, size.seconds))
    console.error(`  ${JSON.stringify(load)}`)
    loads.push(load)
  }
  // Repeats the heaviest load. Half a minute after its end, a light load measures whether the market has recovered.
  const [, recovered] = await Promise.all([
    runOpenLoop(cluster, capacityPerSecond * (LOAD_FACTORS.at(-1) ?? 1), size.seconds),
    sleep(size.seconds * 1000 + RECOVERY_DELAY_MS).then(() => runOpenLoop(cluster, capacityPerSecond / 2, size.seconds)),
  ])
  return { capacityPerSecond, loads, afterwardsMs: findInvoiceMedianMs(recovered) }
}

async function measureCapacity(cluster: TestCluster, { seconds, callers }: OverloadSize): Promise<number> {
  const { uri, alias } = await findBuyer(cluster)
  const body = JSON.stringify({ query: BUY_MUTATION, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
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

async function runOpenLoop({ url, dataDir }: TestCluster, ratePerSecond: number, seconds: number): Promise<LoadOutcome> {
  const settings: LoadSettings = {
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
  }
  const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim()
  const interrupt = new AbortController().signal
  return runLoad({ marketAddress: await resolveMarketAddress(url, false), token, settings, interrupt, progress: () => undefined })
}

const toOverloadResult = (factor: number, outcome: LoadOutcome): OverloadResult => ({
  factor,
  perSecond: outcome.settings.ratePerSecond,
  due: outcome.counts.arrived,
  refused: outcome.counts.refused,
  sold: outcome.buyerResults.sold,
  goodput: computeGoodput(outcome),
  lost: outcome.buyerResults.paidUnserved,
  invoiceMs: findInvoiceMedianMs(outcome),
  settledMs: findMedianMs(outcome, 'settled'),
  faults: listFailures(outcome),
})

const findMedianMs = ({ latencies }: LoadOutcome, step: string): number | null =>
  latencies.find((latency) => latency.step === step)?.p50Ms ?? null
const findInvoiceMedianMs = (outcome: LoadOutcome): number | null => findMedianMs(outcome, 'invoice (buy)')

/** Lists the missed goals, one sentence each. */
export function listMissedGoals({ loads, afterwardsMs }: OverloadReport): readonly string[] {
  const peak = Math.max(...loads.map(({ goodput }) => goodput))
  const heaviest = loads.at(-1)
  const normalMs = loads[0]?.invoiceMs ?? null
  return [
    ...(heaviest && heaviest.goodput < MIN_GOODPUT_SHARE * peak
      ? [`goodput ${heaviest.goodput.toFixed(2)} of a peak of ${peak.toFixed(2)}`]
      : []),
    ...loads.filter(({ lost }) => lost > 0).map(({ factor, lost }) => `${lost} paid orders without a channel at ${factor} times`),
    ...(normalMs !== null && (afterwardsMs ?? Infinity) > MAX_INVOICE_FACTOR * normalMs
      ? [`invoices take ${afterwardsMs} ms afterwards, and ${normalMs} ms before`]
      : []),
    ...loads.flatMap(({ factor, faults }) => faults.map((fault) => `at ${factor} times: ${fault}`)),
  ]
}

/** Minimum goodput at the heaviest load, as a share of the highest goodput. */
const MIN_GOODPUT_SHARE = 0.6
/** Maximum ratio of the median invoice time after the overload to the median before. Without overload, medians vary by less. */
const MAX_INVOICE_FACTOR = 2

export function renderOverloadTable({ loads }: OverloadReport): string {
  const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`
  const ms = (value: number | null): string => (value === null ? '-' : `${Math.round(value).toLocaleString('en')} ms`)
  return [
    row([
      'times',
      'orders a second',
      'due',
      'refused',
      'sold',
      'sold a second',
      'paid, no channel',
      'invoice p50',
      'settled p50',
    ]),
    row(['---:', '---:', '---:', '---:', '---:', '---:', '---:', '---:', '---:']),
    ...loads.map((load) =>
      row([
        load.factor,
        load.perSecond.toFixed(2),
        load.due,
        load.refused,
        load.sold,
        load.goodput.toFixed(2),
        load.lost,
        ms(load.invoiceMs),
        ms(load.settledMs),
      ]),
    ),
  ].join('\n')
}
