import type { Target } from './address.ts'
import { allChecks } from './checks.ts'
import { openClient } from './client.ts'
import { type Closing, openClosing } from './closing.ts'
import { type Driven, drive, type Second, statusesOf } from './drive.ts'
import { gather } from './evidence.ts'
import { type ByHand, openByHand } from './by-hand.ts'
import { asTrouble, type Run } from './life.ts'
import { openMarket } from './market.ts'
import { type Curve, type Latency, openMeter } from './meter.ts'
import { schedule } from './schedule.ts'
import type { LoadOrder } from './order.ts'
import type { Settings } from './settings.ts'
import { type Counts, type ErrorCount, openTally, type Tally } from './tally.ts'
import type { Check } from './verdict.ts'
import { calm, changeSellers } from './weather.ts'
import { findWorld, type World } from './world.ts'

/** What a run brought: all that the report and `--json` show. */
export type Outcome = Driven & {
  readonly url: string
  readonly startedAt: string
  readonly settings: Settings
  /** From the first order's beginning to the last one's end. */
  readonly tookMs: number
  readonly arrivalsMs: number
  readonly counts: Readonly<Counts>
  readonly statuses: readonly (readonly [status: string, count: number])[]
  readonly errors: readonly ErrorCount[]
  readonly latencies: readonly Latency[]
  readonly curves: readonly Curve[]
  readonly checks: readonly Check[]
}

type RunOptions = {
  readonly target: Target
  readonly token: string | undefined
  readonly settings: Settings
  /** Ctrl-C: no more orders, no more waiting, and in the end no more questions; what was measured is reported. */
  readonly interrupt: AbortSignal
  readonly progress: (second: Second) => void
}

/** What is asked beside the load is worth a wait, also where the load was too much. */
const BESIDE_TIMEOUT_MS = 60_000
/** The closing look takes no longer, beside the wait for payouts: an audit of all that was ever recorded has its time in it. */
const LOOK_WITHIN_MS = 15 * 60_000

/** Loads a market, and looks in the end whether all is well. @throws Failure where it cannot begin */
export async function runLoad({ target, token, settings, interrupt, progress }: RunOptions): Promise<Outcome> {
  const stop = new AbortController()
  const signal = AbortSignal.any([interrupt, stop.signal])
  const tally = openTally()
  const meter = openMeter()
  const closing = openClosing(interrupt)
  const { front, back } = openDoors(target, settings.timeoutMs, { tally, meter, signal, closing })
  const isAlive = (timeoutMs: number) => back.send('POST', '/graphql', { body: { query: '{ __typename }' }, timeoutMs })
  const orders: LoadOrder[] = []
  const market = openMarket({ front, back, token })
  // What is asked before and after the load is no part of it.
  const beside = openMarket({ front: back, back, token })
  try {
    const world = await findWorld(beside, settings.to, interrupt)
    const before = (await world.simulation?.operator('GET', '/sim/balances')) ?? null
    const arrivals = schedule(settings)
    const byHand = await openByHand(beside, world, arrivals.filter(({ kind }) => kind === 'manual').length)
    const run = { market, world, meter, tally, orders, manual: byHand.buyer, pollMs: settings.pollMs, signal }
    const startedAt = new Date().toISOString()
    closing.load()
    const began = performance.now()
    const company = accompany(world, byHand, settings, tally, signal)
    const driven = await drive(run, { arrivals, settings, progress })
    const tookMs = performance.now() - began
    stop.abort()
    closing.begin(settings.drainMs + LOOK_WITHIN_MS, isAlive)
    await company
    await byHand.close().catch((error: unknown) => tally.note('seller', asTrouble(error)))
    const { drainMs: patienceMs, allowUnfinished: isUnfinishedAllowed, allowShed: isShedAllowed } = settings
    const { endedBy } = driven
    const allowed = { isUnfinishedAllowed, due: { ...tally.counts(), isShedAllowed } }
    const evidence = await gather(beside, { world, orders, before, endedBy, ...allowed, patienceMs, interrupt, closing })
    return {
      ...driven,
      url: target.url.origin,
      startedAt,
      settings,
      tookMs,
      arrivalsMs: arrivals.at(-1)?.atMs ?? 0,
      counts: tally.counts(),
      statuses: [...statusesOf(orders)].toSorted((a, b) => b[1] - a[1]),
      errors: tally.errorCounts(),
      latencies: meter.latencies(),
      curves: meter.curves(),
      checks: allChecks(evidence),
    }
  } finally {
    stop.abort()
    closing.end()
    front.close()
    back.close()
  }
}

/** The two ways to the market. Who waits for a connection while orders come has that wait in his figures, by either of them. */
function openDoors(
  target: Target,
  timeoutMs: number,
  { tally, meter, signal, closing }: Pick<Run, 'tally' | 'meter' | 'signal'> & { readonly closing: Closing },
) {
  const waited = (ms: number): void => {
    if (!signal.aborted) meter.record('socket wait', ms)
  }
  const counted = (ms: number, hasLeft: boolean): void => {
    if (hasLeft) tally.requests++
    waited(ms)
  }
  return {
    front: openClient(target, { timeoutMs, signal, waited: counted }),
    back: openClient(target, { timeoutMs: BESIDE_TIMEOUT_MS, signal: closing.signal, waited }),
  }
}

/** What goes on beside the buyers: sellers that change, and the one that works by hand. */
async function accompany(
  { simulation }: World,
  { work }: ByHand,
  { sellers, seed }: Settings,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const changing = async (): Promise<void> => {
    if (!simulation || !sellers) return
    await changeSellers(simulation.operator, simulation.sellers, sellers, { seed, tally, signal })
    await calm(simulation.operator, simulation.sellers, tally)
  }
  await Promise.all([changing(), work(tally, signal)])
}
