import type { Clock } from '@penstock/ports/clock.ts'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import { actionEffects } from './effects.ts'
import type { AgentContext } from './context.ts'
import type { ListedSale } from './market-client.ts'
import { nextAction, type SaleState } from './sale.ts'
import type { AgentTimings } from './terms.ts'

/** The times at which a sale is due again, in ms of the monotonic clock. They are not stored, so every start makes it due. */
type Pause = { readonly watchAt: number; readonly retryAt: number; readonly faults: number }

const noPause: Pause = { watchAt: 0, retryAt: 0, faults: 0 }
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 10_000
/** An agent counts as quiet after so many polls in a row without an unfinished sale. */
export const QUIET_AFTER_POLLS = 30

/** Advances each sale as far as possible, several sales at a time and one task per sale, until the signal aborts. */
export async function runSaleWorker(context: AgentContext, timings: AgentTimings, signal: AbortSignal): Promise<void> {
  const running = new Map<string, Promise<void>>()
  const pauses = new Map<string, Pause>()
  let quietPolls = 0
  while (!signal.aborted) {
    for (const orderId of context.wakeUps.takeOrders()) watchNow(pauses, orderId)
    const listed = await listPendingSales(context, signal)
    if (listed) {
      recordNewSales(context, listed)
      const idle = [...context.journal.sales.values()].filter(({ orderId }) => !running.has(orderId))
      for (const { orderId } of selectDueSales(idle, listed, pauses, context.clock, timings)) {
        if (running.size >= timings.concurrency) break
        const advancing = advanceSale(context, orderId, listed.get(orderId)?.status, timings, pauses, signal).finally(() =>
          running.delete(orderId),
        )
        running.set(orderId, advancing)
      }
    }
    quietPolls = listed && context.journal.sales.size === 0 ? quietPolls + 1 : 0
    await context.wakeUps.sales.wait(quietPolls >= QUIET_AFTER_POLLS ? timings.quietPollMs : timings.pollMs, signal)
  }
  await Promise.all(running.values())
}

/** Makes the sale of a changed channel due for a `watch` at once. After a failure, the backoff still applies. */
function watchNow(pauses: Map<string, Pause>, orderId: string): void {
  const pause = pauses.get(orderId)
  if (pause) pauses.set(orderId, { ...pause, watchAt: 0 })
}

async function listPendingSales(
  { market, log }: AgentContext,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ListedSale> | undefined> {
  try {
    return new Map((await market.listPendingSales()).map((sale) => [sale.orderId, sale]))
  } catch (error) {
    if (!signal.aborted) log.warn({ reason: String(error) }, 'listing the sales failed; retrying')
    return undefined
  }
}

function recordNewSales({ journal, clock }: AgentContext, listed: ReadonlyMap<string, ListedSale>): void {
  for (const { orderId, sizeSat, sellerSat, peer, sockets, isPrivate, leaseBlocks } of listed.values()) {
    if (journal.sales.has(orderId) || !journal.mayBegin(orderId)) continue
    const terms = { sizeSat, sellerSat, peer, sockets, isPrivate, ...(leaseBlocks !== undefined && { leaseBlocks }) }
    journal.record(orderId, clock.now(), { type: 'Seen', terms })
  }
}

/** Selects the due sales. Sales to `watch` come last, because many published sales could otherwise delay the other sales. */
function selectDueSales(
  sales: readonly SaleState[],
  listed: ReadonlyMap<string, ListedSale>,
  pauses: ReadonlyMap<string, Pause>,
  clock: Clock,
  timings: AgentTimings,
): readonly SaleState[] {
  const [now, monotonicMs] = [clock.now(), clock.monotonicMs()]
  const due = sales.flatMap((sale) => {
    const action = nextAction(sale, listed.get(sale.orderId)?.status, now, timings)
    const { watchAt, retryAt } = pauses.get(sale.orderId) ?? noPause
    return action !== undefined && monotonicMs >= retryAt && (action !== 'watch' || monotonicMs >= watchAt)
      ? [{ sale, isWatch: action === 'watch' }]
      : []
  })
  return due.toSorted((a, b) => Number(a.isWatch) - Number(b.isWatch)).map(({ sale }) => sale)
}

async function advanceSale(
  context: AgentContext,
  orderId: string,
  status: string | undefined,
  timings: AgentTimings,
  pauses: Map<string, Pause>,
  signal: AbortSignal,
): Promise<void> {
  const { journal, clock, ids, log } = context
  try {
    for (;;) {
      const sale = journal.sales.get(orderId)
      const action = sale && nextAction(sale, status, clock.now(), timings)
      if (!action || signal.aborted) return
      await actionEffects[action](context, sale)
      // The loop ends if the action changed nothing, and after every watch, so that no watch follows another at once.
      if (action === 'watch' || journal.sales.get(orderId) === sale) break
    }
    if (journal.sales.has(orderId)) pauses.set(orderId, { ...noPause, watchAt: clock.monotonicMs() + timings.watchMs })
    else pauses.delete(orderId)
  } catch (error) {
    const faults = (pauses.get(orderId)?.faults ?? 0) + 1
    pauses.set(orderId, {
      watchAt: 0,
      retryAt: clock.monotonicMs() + computeBackoffMs(faults - 1, ids, FIRST_RETRY_MS, LONGEST_RETRY_MS),
      faults,
    })
    if (!signal.aborted) log.warn({ order: orderId, faults, reason: String(error) }, 'a step of a sale failed; retrying')
  }
}
