import type { MarketAddress } from './market/market-address.ts'
import { type BuyerResults, countBuyerResults } from './measurements/buyer-results.ts'
import { runChecks } from './checks/checks.ts'
import { openHttpClient } from './market/http-client.ts'
import { openHttpTransport } from './market/http-transport.ts'
import { type LoadClock, processClock } from './load-clock.ts'
import { type Drain, openDrain } from './checks/drain.ts'
import { type GeneratedLoad, generateLoad, type SecondSample, countStatuses } from './orders/generator.ts'
import { collectPostRunData } from './checks/post-run-data.ts'
import { type ManualOrders, openManualOrders } from './orders/manual-orders.ts'
import { toKnownRequestError, type LoadRun } from './orders/order-scenario.ts'
import { openLoadMarket } from './market/load-market.ts'
import { type PercentileCurve, type StepLatency, createLatencyMeter } from './measurements/latency-meter.ts'
import { scheduleArrivals } from './orders/arrival-schedule.ts'
import type { LoadOrder } from './orders/load-order.ts'
import type { LoadSettings } from './settings.ts'
import { type LoadCounts, type ErrorCount, createLoadCounters } from './measurements/counters.ts'
import type { LoadCheckResult } from './checks/check-result.ts'
import { resetSellerBehaviour, varySellerBehaviour } from './orders/seller-behaviour.ts'
import { findLoadTargets } from './market/targets.ts'

/** The outcome of a run: everything that the report and `--json` show. */
export type LoadOutcome = GeneratedLoad & {
  readonly url: string
  readonly startedAt: string
  readonly settings: LoadSettings
  /** Milliseconds from the start of the load to the end of its last order. */
  readonly tookMs: number
  readonly arrivalsMs: number
  readonly counts: Readonly<LoadCounts>
  readonly buyerResults: BuyerResults
  readonly statuses: readonly (readonly [status: string, count: number])[]
  readonly errors: readonly ErrorCount[]
  readonly latencies: readonly StepLatency[]
  readonly curves: readonly PercentileCurve[]
  readonly checks: readonly LoadCheckResult[]
}

export type LoadRunOptions = {
  readonly marketAddress: MarketAddress
  readonly token: string | undefined
  readonly settings: LoadSettings
  /** Ctrl-C: no more orders start, the final checks are cut short, and the run reports its measurements so far. */
  readonly interrupt: AbortSignal
  readonly progress: (second: SecondSample) => void
  /** Called when no further order starts. Orders may still be in flight. */
  readonly onArrivalsEnd?: () => void
  readonly clock?: LoadClock
  readonly openTransport?: typeof openHttpTransport
}

/** The timeout of control requests, which may be slow on an overloaded market. */
const CONTROL_TIMEOUT_MS = 60_000
/** The time limit of the final checks, without the wait for payouts. It leaves time for an audit of the whole log. */
const CHECKS_LIMIT_MS = 15 * 60_000

/** Loads a market, and checks the result at the end. @throws Failure if the run cannot start */
export async function runLoad(options: LoadRunOptions): Promise<LoadOutcome> {
  const { marketAddress, token, settings, interrupt, progress, onArrivalsEnd, clock = processClock } = options
  const stop = new AbortController()
  const signal = AbortSignal.any([interrupt, stop.signal])
  const counters = createLoadCounters()
  const meter = createLatencyMeter()
  const drain = openDrain(interrupt, clock)
  const { loadClient, controlClient } = openClients(options, { counters, meter, signal, drain })
  const probe = (timeoutMs: number) => controlClient.send('POST', '/graphql', { body: { query: '{ __typename }' }, timeoutMs })
  const orders: LoadOrder[] = []
  const market = openLoadMarket({ loadClient, controlClient, token })
  // Requests before and after the load do not count as load.
  const controlApi = openLoadMarket({ loadClient: controlClient, controlClient, token })
  try {
    const targets = await findLoadTargets(controlApi, settings.to, interrupt)
    const balancesBefore = (await targets.simulation?.operator('GET', '/sim/balances')) ?? null
    const arrivals = scheduleArrivals(settings)
    const manualOrders = await openManualOrders(controlApi, targets, arrivals.filter(({ kind }) => kind === 'manual').length)
    const { buyer: manualBuyer } = manualOrders
    const run = { market, targets, meter, counters, orders, manualBuyer, pollMs: settings.pollMs, clock, signal }
    const startedAt = new Date().toISOString()
    drain.startLoad()
    const loadStartedAt = clock.monotonicMs()
    const sideJobs = runSideJobs(run, manualOrders, settings)
    const generated = await generateLoad(run, { arrivals, settings, progress, onArrivalsEnd })
    const tookMs = clock.monotonicMs() - loadStartedAt
    stop.abort()
    drain.startChecks(settings.drainMs + CHECKS_LIMIT_MS, probe)
    await sideJobs
    await manualOrders.close().catch((error: unknown) => counters.recordError('seller', toKnownRequestError(error)))
    const { drainMs: payoutWaitMs, allowUnfinished: isUnfinishedAllowed, allowShed: isShedAllowed } = settings
    const { endedBy } = generated
    const allowed = { isUnfinishedAllowed, due: { ...counters.counts(), isShedAllowed } }
    const finishedRun = { targets, orders, before: balancesBefore, endedBy, ...allowed, payoutWaitMs, interrupt, drain, clock }
    const postRunData = await collectPostRunData(controlApi, finishedRun)
    return {
      ...generated,
      url: marketAddress.url.origin,
      startedAt,
      settings,
      tookMs,
      arrivalsMs: arrivals.at(-1)?.atMs ?? 0,
      counts: counters.counts(),
      buyerResults: countBuyerResults(orders),
      statuses: [...countStatuses(orders)].toSorted((a, b) => b[1] - a[1]),
      errors: counters.errorCounts(),
      latencies: meter.latencies(),
      curves: meter.curves(),
      checks: runChecks(postRunData),
    }
  } finally {
    stop.abort()
    drain.stop()
    loadClient.close()
    controlClient.close()
  }
}

/** Opens the clients for the load and for control requests. Both record waits for a connection during the load. */
function openClients(
  { marketAddress, settings, clock = processClock, openTransport = openHttpTransport }: LoadRunOptions,
  { counters, meter, signal, drain }: Pick<LoadRun, 'counters' | 'meter' | 'signal'> & { readonly drain: Drain },
) {
  const recordWait = (ms: number): void => {
    if (!signal.aborted) meter.record('socket wait', ms)
  }
  const recordRequest = (ms: number, hasLeft: boolean): void => {
    if (hasLeft) counters.requests++
    recordWait(ms)
  }
  return {
    loadClient: openHttpClient(marketAddress, {
      clock,
      openTransport,
      timeoutMs: settings.timeoutMs,
      signal,
      onConnectionWait: recordRequest,
    }),
    controlClient: openHttpClient(marketAddress, {
      clock,
      openTransport,
      timeoutMs: CONTROL_TIMEOUT_MS,
      signal: drain.signal,
      onConnectionWait: recordWait,
    }),
  }
}

/** Runs the sellers' jobs during the load: changes of the simulated sellers' behaviour, and the manual seller. */
async function runSideJobs(
  { targets: { simulation }, counters, clock, signal }: Pick<LoadRun, 'targets' | 'counters' | 'clock' | 'signal'>,
  { runSeller }: ManualOrders,
  { sellers, seed }: LoadSettings,
): Promise<void> {
  const changeBehaviour = async (): Promise<void> => {
    if (!simulation || !sellers) return
    await varySellerBehaviour(simulation.operator, simulation.sellers, sellers, { seed, counters, clock, signal })
    await resetSellerBehaviour(simulation.operator, simulation.sellers, counters)
  }
  await Promise.all([changeBehaviour(), runSeller(counters, signal)])
}
