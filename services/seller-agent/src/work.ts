import type { Clock } from '@penstock/ports/clock.ts'
import { backoff } from '@penstock/runtime/backoff.ts'
import { acts } from './acts.ts'
import type { Desk } from './desk.ts'
import type { ListedSale } from './market.ts'
import { nextAct, type Sale } from './sale.ts'
import type { Pace } from './terms.ts'

/** When a sale is looked at again, by the monotonic clock; only in memory, since after a start everything is looked at. */
type Pause = { readonly watchAt: number; readonly retryAt: number; readonly faults: number }

const none: Pause = { watchAt: 0, retryAt: 0, faults: 0 }
const FIRST_FAULT_MS = 250
const LONGEST_FAULT_MS = 10_000

/** Takes each sale as far as it goes, several side by side and each by one worker at a time, until the signal. */
export async function workOnSales(desk: Desk, pace: Pace, signal: AbortSignal): Promise<void> {
  const running = new Map<string, Promise<void>>()
  const pauses = new Map<string, Pause>()
  while (!signal.aborted) {
    for (const orderId of desk.news.takeOrders()) lookNow(pauses, orderId)
    const listed = await salesToDo(desk, signal)
    if (listed) {
      begin(desk, listed)
      const idle = [...desk.journal.sales.values()].filter(({ orderId }) => !running.has(orderId))
      for (const { orderId } of inTurn(idle, listed, pauses, desk.clock, pace)) {
        if (running.size >= pace.concurrency) break
        const work = workOn(desk, orderId, listed.get(orderId)?.status, pace, pauses, signal).finally(() =>
          running.delete(orderId),
        )
        running.set(orderId, work)
      }
    }
    await desk.news.sales.rest(pace.pollMs, signal)
  }
  await Promise.all(running.values())
}

/** Its channel stands in another way: it is watched at once. What failed keeps its pause. */
function lookNow(pauses: Map<string, Pause>, orderId: string): void {
  const pause = pauses.get(orderId)
  if (pause) pauses.set(orderId, { ...pause, watchAt: 0 })
}

async function salesToDo({ market, log }: Desk, signal: AbortSignal): Promise<ReadonlyMap<string, ListedSale> | undefined> {
  try {
    return new Map((await market.salesToDo()).map((sale) => [sale.orderId, sale]))
  } catch (error) {
    if (!signal.aborted) log.warn({ reason: String(error) }, 'the sales cannot be read')
    return undefined
  }
}

function begin({ journal, clock }: Desk, listed: ReadonlyMap<string, ListedSale>): void {
  for (const { orderId, sizeSat, sellerSat, peer, sockets, isPrivate, leaseBlocks } of listed.values()) {
    if (journal.sales.has(orderId) || !journal.mayBegin(orderId)) continue
    const terms = { sizeSat, sellerSat, peer, sockets, isPrivate, ...(leaseBlocks !== undefined && { leaseBlocks }) }
    journal.record(orderId, clock.now(), { type: 'Seen', terms })
  }
}

/** What a buyer waits for comes first: looking after many that are published would leave no place for it. */
function inTurn(
  sales: readonly Sale[],
  listed: ReadonlyMap<string, ListedSale>,
  pauses: ReadonlyMap<string, Pause>,
  clock: Clock,
  pace: Pace,
): readonly Sale[] {
  const [now, monotonicMs] = [clock.now(), clock.monotonicMs()]
  const due = sales.flatMap((sale) => {
    const act = nextAct(sale, listed.get(sale.orderId)?.status, now, pace)
    const { watchAt, retryAt } = pauses.get(sale.orderId) ?? none
    return act !== undefined && monotonicMs >= retryAt && (act !== 'watch' || monotonicMs >= watchAt)
      ? [{ sale, isWatch: act === 'watch' }]
      : []
  })
  return due.toSorted((a, b) => Number(a.isWatch) - Number(b.isWatch)).map(({ sale }) => sale)
}

async function workOn(
  desk: Desk,
  orderId: string,
  status: string | undefined,
  pace: Pace,
  pauses: Map<string, Pause>,
  signal: AbortSignal,
): Promise<void> {
  const { journal, clock, log } = desk
  try {
    for (;;) {
      const sale = journal.sales.get(orderId)
      const act = sale && nextAct(sale, status, clock.now(), pace)
      if (!act || signal.aborted) return
      await acts[act](desk, sale)
      // An act that changed nothing waits for something else; watching is never followed by more watching.
      if (act === 'watch' || journal.sales.get(orderId) === sale) break
    }
    if (journal.sales.has(orderId)) pauses.set(orderId, { ...none, watchAt: clock.monotonicMs() + pace.watchMs })
    else pauses.delete(orderId)
  } catch (error) {
    const faults = (pauses.get(orderId)?.faults ?? 0) + 1
    pauses.set(orderId, {
      watchAt: 0,
      retryAt: clock.monotonicMs() + backoff(faults - 1, FIRST_FAULT_MS, LONGEST_FAULT_MS),
      faults,
    })
    if (!signal.aborted) log.warn({ order: orderId, faults, reason: String(error) }, 'a step of a sale failed and is tried again')
  }
}
