import { live, type Run, sleepUntil } from './life.ts'
import type { Slice } from './meter.ts'
import type { LoadOrder } from './order.ts'
import type { Arrival } from './schedule.ts'
import type { Settings } from './settings.ts'
import { openStopwatch } from './stopwatch.ts'
import type { Counts, ErrorCount } from './tally.ts'

/** How the run stood at the end of a second. All but `slice` are counted from the beginning. */
export type Second = Readonly<Counts> & {
  readonly atMs: number
  readonly inFlight: number
  readonly statuses: ReadonlyMap<string, number>
  readonly errorCounts: readonly ErrorCount[]
  readonly slice: Slice
}

export type Ending = 'itself' | 'interrupt' | 'drain limit'
export type Driven = { readonly seconds: readonly Second[]; readonly endedBy: Ending }

type Options = {
  readonly arrivals: readonly Arrival[]
  readonly settings: Pick<Settings, 'maxInFlight' | 'drainMs'>
  readonly progress: (second: Second) => void
}

const SECOND_MS = 1000

/**
 * Lets every order begin when it is due, whatever the others do (an open loop): a market that stands still meets what has
 * come meanwhile, and each of them has waited since it was due. What is not begun is counted, never put off.
 */
export async function drive(run: Omit<Run, 'holdBack'>, { arrivals, settings, progress }: Options): Promise<Driven> {
  const { tally, meter, signal } = run
  const canPay = run.world.simulation !== null && run.world.buyers.every(({ alias }) => alias !== null)
  const began = performance.now()
  const underWay = new Set<Promise<void>>()
  let resumeAt = 0
  const faults: Error[] = []
  const holdBack = (pauseMs: number | null): void => {
    tally.held++
    resumeAt = Math.max(resumeAt, performance.now() + (pauseMs ?? SECOND_MS))
  }
  const begin = (arrival: Arrival, dueAt: number): void => {
    tally.arrived++
    // Also of those that are not begun: what they would have shown is missing.
    const watch = openStopwatch(meter, { kind: arrival.kind, dueAt, canPay })
    if (performance.now() < resumeAt) return void tally.held++
    if (underWay.size >= settings.maxInFlight) return void tally.shed++
    const life = live({ ...run, holdBack }, arrival, watch)
      .catch((error: unknown) => void faults.push(error instanceof Error ? error : new Error(String(error))))
      .finally(() => underWay.delete(life))
    underWay.add(life)
  }
  const clock = new AbortController()
  const watching = watchSeconds(run, began, () => underWay.size, progress, clock.signal)
  for (const arrival of arrivals) {
    const dueAt = began + arrival.atMs
    if (faults.length > 0 || !(await sleepUntil(dueAt, signal))) break
    begin(arrival, dueAt)
  }
  const isDrained = await drained(underWay, settings.drainMs, signal)
  clock.abort()
  const seconds = await watching
  const [fault] = faults
  if (fault) throw fault
  return { seconds, endedBy: signal.aborted ? 'interrupt' : isDrained ? 'itself' : 'drain limit' }
}

/** @returns whether everything under way has ended within the time */
async function drained(underWay: ReadonlySet<Promise<void>>, drainMs: number, signal: AbortSignal): Promise<boolean> {
  const enough = new AbortController()
  const patience = sleepUntil(performance.now() + drainMs, AbortSignal.any([signal, enough.signal]))
  const all = (async () => {
    while (underWay.size > 0) await Promise.all(underWay)
    return true
  })()
  const ended = await Promise.race([all, patience.then(() => false)])
  enough.abort()
  return ended
}

async function watchSeconds(
  { tally, meter, orders }: Omit<Run, 'holdBack'>,
  began: number,
  inFlight: () => number,
  progress: (second: Second) => void,
  signal: AbortSignal,
): Promise<readonly Second[]> {
  const seconds: Second[] = []
  const note = (): void => {
    const atMs = performance.now() - began
    const second = {
      ...tally.counts(),
      atMs,
      inFlight: inFlight(),
      statuses: statusesOf(orders),
      errorCounts: tally.errorCounts(),
      slice: meter.slice(),
    }
    seconds.push(second)
    progress(second)
  }
  for (let at = began + SECOND_MS; await sleepUntil(at, signal); at += SECOND_MS) note()
  note()
  return seconds
}

export function statusesOf(orders: readonly LoadOrder[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { status } of orders) counts.set(status, (counts.get(status) ?? 0) + 1)
  return counts
}
