import { setTimeout as pause } from 'node:timers/promises'
import { buy, cancel, look, type ManualBuyer, orderByHand, orderByLsps1 } from './buying.ts'
import { type Market, textAt } from './market.ts'
import type { Meter, Step } from './meter.ts'
import { isEnded, type LoadOrder, msatOf, STAGES, stageOf } from './order.ts'
import type { Arrival } from './schedule.ts'
import type { Tally } from './tally.ts'
import { isThrottle, Trouble } from './trouble.ts'
import type { BuyerNode, World } from './world.ts'

/** What the life of an order needs of its run. */
export type Run = {
  readonly market: Market
  readonly world: World
  readonly meter: Meter
  readonly tally: Tally
  readonly orders: LoadOrder[]
  readonly manual: ManualBuyer | null
  readonly pollMs: number
  readonly signal: AbortSignal
  /** The market did not take an order, and wants no new ones for a while. */
  readonly holdBack: (pauseMs: number | null) => void
}

/** One order from its arrival to its end. @param dueAt when it was to begin, by performance.now() */
export async function live(run: Run, arrival: Arrival, dueAt: number): Promise<void> {
  const { market, tally, meter } = run
  const { buyers } = run.world
  const buyer = buyers[arrival.buyer % buyers.length]
  if (!buyer) return
  meter.record('start lag', performance.now() - dueAt)
  const placed = await guarded(tally, `${arrival.kind}: order`, () => place(run, buyer, arrival, dueAt), run.holdBack)
  if (!placed) return
  const { order, page } = placed
  tally.placed++
  run.orders.push(order)
  if (page !== null) await guarded(tally, 'page', () => openPage(run, page))
  if (arrival.kind === 'abandon') return
  if (arrival.kind === 'cancel') await guarded(tally, 'cancel: cancel', () => cancel(market, order))
  await follow(run, order, buyer, dueAt)
}

async function place(
  { market, meter, manual }: Run,
  buyer: BuyerNode,
  arrival: Arrival,
  dueAt: number,
): Promise<{ order: LoadOrder; page: string | null }> {
  const placed = await (async () => {
    if (arrival.kind === 'lsps1') return { order: await orderByLsps1(market, buyer, arrival), page: null }
    if (arrival.kind !== 'manual') return buy(market, buyer, arrival)
    if (!manual) throw new Trouble('no offer', 'there is no offer to order from by hand')
    return { order: await orderByHand(market, buyer, manual, arrival), page: null }
  })()
  if (placed.order.invoice !== null)
    meter.record(arrival.kind === 'lsps1' ? 'invoice (lsps1)' : 'invoice (buy)', performance.now() - dueAt)
  return placed
}

/** Asks on a fixed beat until the order has ended. A buyer that has an invoice pays it first. */
async function follow(run: Run, order: LoadOrder, buyer: BuyerNode, dueAt: number): Promise<void> {
  const { meter, pollMs, signal } = run
  let hadInvoice = order.invoice !== null
  let askAt = performance.now()
  while (!signal.aborted) {
    if (order.invoice !== null && order.paid === null && mayPay(order)) await pay(run, order, buyer)
    askAt += pollMs
    if (!(await sleepUntil(askAt, signal))) return
    const pauseMs = await poll(run, order, askAt)
    const now = performance.now()
    // The beats that a slow answer held back would have waited for it, too: they are counted, and not sent in a burst.
    for (; askAt + pollMs <= now; askAt += pollMs) meter.record('get_order', now - askAt - pollMs)
    askAt += pauseMs
    if (!hadInvoice && order.invoice !== null) meter.record('invoice (manual)', now - dueAt)
    hadInvoice = order.invoice !== null
    noteStages(order, (step) => meter.record(step, now - dueAt))
    if (isEnded(order.status)) return
  }
}

const mayPay = ({ kind, status }: LoadOrder): boolean => kind !== 'cancel' && !isEnded(status)

async function pay({ world, tally }: Run, order: LoadOrder, { alias }: BuyerNode): Promise<void> {
  const { invoice } = order
  if (!world.simulation || alias === null || invoice === null) return
  order.isPaymentUnsure = true
  try {
    const payment = await world.simulation.operator('POST', '/sim/pay', { invoice, from: alias })
    order.paid = { hash: textAt(payment, 'payment_hash'), amountMsat: msatOf(invoice) ?? 0n }
    order.isPaymentUnsure = false
    if (textAt(payment, 'state') === 'FAILED') tally.note('pay', new Trouble('payment failed', 'the payment found no way'))
  } catch (error) {
    // It may have been sent; the next beat tries again, and to pay an invoice twice is to pay it once.
    tally.note('pay', asTrouble(error))
  }
}

/** @returns how long the market wants to be left alone */
async function poll(run: Run, order: LoadOrder, askAt: number): Promise<number> {
  try {
    await look(run.market, order)
    run.meter.record('get_order', performance.now() - askAt)
    return 0
  } catch (error) {
    const trouble = asTrouble(error)
    if (trouble.code === 'time-out') run.meter.record('get_order', performance.now() - askAt)
    run.tally.note(`${order.kind}: get_order`, trouble)
    return trouble.pauseMs ?? 0
  }
}

const STEP_OF = { held: 'payment held', opening: 'opening', settled: 'settled' } as const

/** A stage that nobody looked at in time was reached by now at the latest. */
function noteStages(order: LoadOrder, record: (step: Step) => void): void {
  const reached = stageOf(order.status)
  if (reached === undefined) return
  for (const stage of STAGES.slice(STAGES.indexOf(order.stage) + 1, STAGES.indexOf(reached) + 1)) {
    if (stage !== 'ordered') record(STEP_OF[stage])
    order.stage = stage
  }
}

async function openPage({ market, meter }: Run, page: string): Promise<void> {
  const startedAt = performance.now()
  await market.page(page)
  meter.record('page', performance.now() - startedAt)
}

/** @returns undefined where it came to nothing, which is counted */
async function guarded<T>(
  tally: Tally,
  where: string,
  work: () => Promise<T>,
  holdBack?: Run['holdBack'],
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    const trouble = asTrouble(error)
    tally.note(where, trouble)
    if (isThrottle(trouble)) holdBack?.(trouble.pauseMs ?? null)
    return undefined
  }
}

export function asTrouble(error: unknown): Trouble {
  if (error instanceof Trouble) return error
  throw error
}

/** @returns false where the run ended before */
export async function sleepUntil(at: number, signal: AbortSignal): Promise<boolean> {
  const ms = at - performance.now()
  if (ms > 0) await pause(ms, undefined, { signal }).catch(() => undefined)
  return !signal.aborted
}
