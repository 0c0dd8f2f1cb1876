import { type LoadClock, sleepUntil } from '../load-clock.ts'
import { runOrderScenario, type LoadRun } from './order-scenario.ts'
import type { IntervalLatencies } from '../measurements/latency-meter.ts'
import type { LoadOrder } from './load-order.ts'
import type { Arrival } from './arrival-schedule.ts'
import type { LoadSettings } from '../settings.ts'
import { startOrderStopwatch } from '../measurements/order-stopwatch.ts'
import type { LoadCounts, ErrorCount } from '../measurements/counters.ts'

/** The state of the run at the end of a second. `latencies` covers that second; the counts are from the start of the run. */
export type SecondSample = Readonly<LoadCounts> & {
  readonly atMs: number
  readonly inFlight: number
  readonly statuses: ReadonlyMap<string, number>
  readonly errorCounts: readonly ErrorCount[]
  readonly latencies: IntervalLatencies
}

export type RunEnd = 'itself' | 'interrupt' | 'drain limit'
export type GeneratedLoad = { readonly seconds: readonly SecondSample[]; readonly endedBy: RunEnd }

type Options = {
  readonly arrivals: readonly Arrival[]
  readonly settings: Pick<LoadSettings, 'maxInFlight' | 'drainMs'>
  readonly progress: (second: SecondSample) => void
  /** Called when no further order starts. Orders may still be in flight. */
  readonly onArrivalsEnd?: (() => void) | undefined
}

const SECOND_MS = 1000

/**
 * Starts every order at its due time, regardless of the other orders (an open loop). So orders keep starting while the market
 * stalls, and their latencies include the whole wait. An order that cannot start is counted, and never postponed.
 */
export async function generateLoad(
  run: Omit<LoadRun, 'holdBack'>,
  { arrivals, settings, progress, onArrivalsEnd }: Options,
): Promise<GeneratedLoad> {
  const { counters, meter, clock, signal } = run
  const canPay = run.targets.simulation !== null && run.targets.buyers.every(({ alias }) => alias !== null)
  const startedAt = clock.monotonicMs()
  const runningOrders = new Set<Promise<void>>()
  let resumeAt = 0
  const errors: Error[] = []
  const holdBack = (pauseMs: number | null): void => {
    counters.held++
    resumeAt = Math.max(resumeAt, clock.monotonicMs() + (pauseMs ?? SECOND_MS))
  }
  const start = (arrival: Arrival, dueAt: number): void => {
    counters.arrived++
    // The stopwatch starts before the checks below, so that the steps of an order that cannot start count as missing.
    const stopwatch = startOrderStopwatch({ meter, clock }, { kind: arrival.kind, dueAt, canPay })
    if (clock.monotonicMs() < resumeAt) return void counters.held++
    if (runningOrders.size >= settings.maxInFlight) return void counters.shed++
    const scenario = runOrderScenario({ ...run, holdBack }, arrival, stopwatch)
      .catch((error: unknown) => void errors.push(error instanceof Error ? error : new Error(String(error))))
      .finally(() => runningOrders.delete(scenario))
    runningOrders.add(scenario)
  }
  const samplingAbort = new AbortController()
  const sampled = sampleSeconds(run, startedAt, () => runningOrders.size, progress, samplingAbort.signal)
  for (const arrival of arrivals) {
    const dueAt = startedAt + arrival.atMs
    if (errors.length > 0 || !(await sleepUntil(clock, dueAt, signal))) break
    start(arrival, dueAt)
  }
  onArrivalsEnd?.()
  const isDrained = await waitForOrders(runningOrders, settings.drainMs, clock, signal)
  samplingAbort.abort()
  const seconds = await sampled
  const [firstError] = errors
  if (firstError) throw firstError
  return { seconds, endedBy: signal.aborted ? 'interrupt' : isDrained ? 'itself' : 'drain limit' }
}

/** @returns whether all running orders ended within the time */
async function waitForOrders(
  runningOrders: ReadonlySet<Promise<void>>,
  drainMs: number,
  clock: LoadClock,
  signal: AbortSignal,
): Promise<boolean> {
  const cancelLimit = new AbortController()
  const limit = sleepUntil(clock, clock.monotonicMs() + drainMs, AbortSignal.any([signal, cancelLimit.signal]))
  const allEnded = (async () => {
    while (runningOrders.size > 0) await Promise.all(runningOrders)
    return true
  })()
  const ended = await Promise.race([allEnded, limit.then(() => false)])
  cancelLimit.abort()
  return ended
}

async function sampleSeconds(
  { counters, meter, orders, clock }: Omit<LoadRun, 'holdBack'>,
  startedAt: number,
  inFlight: () => number,
  progress: (second: SecondSample) => void,
  signal: AbortSignal,
): Promise<readonly SecondSample[]> {
  const seconds: SecondSample[] = []
  const takeSample = (): void => {
    const atMs = clock.monotonicMs() - startedAt
    const second = {
      ...counters.counts(),
      atMs,
      inFlight: inFlight(),
      statuses: countStatuses(orders),
      errorCounts: counters.errorCounts(),
      latencies: meter.takeInterval(),
    }
    seconds.push(second)
    progress(second)
  }
  for (let at = startedAt + SECOND_MS; await sleepUntil(clock, at, signal); at += SECOND_MS) takeSample()
  takeSample()
  return seconds
}

export function countStatuses(orders: readonly LoadOrder[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { status } of orders) counts.set(status, (counts.get(status) ?? 0) + 1)
  return counts
}
