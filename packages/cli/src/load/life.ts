import { setTimeout as pause } from 'node:timers/promises'
import { buy, cancel, look, type ManualBuyer, orderByHand, orderByLsps1 } from './buying.ts'
import { type Market, textAt } from './market.ts'
import type { Meter, Step } from './meter.ts'
import { isEnded, type LoadOrder, msatOf, STAGES, stageOf } from './order.ts'
import type { Arrival } from './schedule.ts'
import type { Stopwatch } from './stopwatch.ts'
import type { Tally } from './tally.ts'
import { isThrottle, type Silence, silenceOf, Trouble } from './trouble.ts'
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

/** One order from its arrival to its end. @param watch begun when the order was due */
export async function live(run: Run, arrival: Arrival, watch: Stopwatch): Promise<void> {
  const { market, tally, meter } = run
  const { buyers } = run.world
  const buyer = buyers[arrival.buyer % buyers.length]
  if (!buyer) return
  meter.record('start lag', performance.now() - watch.dueAt)
  const placed = await guarded(
    tally,
    `${arrival.kind}: order`,
    () => place(run, buyer, arrival),
    (trouble) => {
      const silence = silenceOf(trouble)
      if (silence) watch.invoiceUnanswered(silence)
      if (isThrottle(trouble)) run.holdBack(trouble.pauseMs ?? null)
    },
  )
  if (!placed) return
  const { order, page } = placed
  tally.placed++
  run.orders.push(order)
  if (order.invoice !== null) watch.reachInvoice()
  if (page !== null) await openPage(run, page)
  if (arrival.kind === 'abandon') return
  if (arrival.kind === 'cancel') await guarded(tally, 'cancel: cancel', () => cancel(market, order))
  await follow(run, order, buyer, watch)
}

async function place(
  { market, manual }: Run,
  buyer: BuyerNode,
  arrival: Arrival,
): Promise<{ order: LoadOrder; page: string | null }> {
  if (arrival.kind === 'lsps1') return { order: await orderByLsps1(market, buyer, arrival), page: null }
  if (arrival.kind !== 'manual') return buy(market, buyer, arrival)
  if (!manual) throw new Trouble('no offer', 'there is no offer to order from by hand')
  return { order: await orderByHand(market, buyer, manual, arrival), page: null }
}

/** Asks on a fixed beat until the order has ended. A buyer that has an invoice pays it first. */
async function follow(run: Run, order: LoadOrder, buyer: BuyerNode, watch: Stopwatch): Promise<void> {
  const { meter, tally, pollMs, signal } = run
  let hadInvoice = order.invoice !== null
  let askAt = performance.now()
  let resumeAt = 0
  while (!signal.aborted) {
    if (order.invoice !== null && order.paid === null && mayPay(order)) await pay(run, order, buyer)
    askAt += pollMs
    if (!(await sleepUntil(askAt, signal))) return
    meter.expect('get_order')
    if (askAt < resumeAt) {
      tally.unasked++
      continue
    }
    const { pauseMs, hasFailed, silence } = await poll(run, order, askAt)
    const now = performance.now()
    resumeAt = now + pauseMs
    // The beats that a slow answer held back would have waited for it, too: they are counted, and not sent in a burst.
    for (; askAt + pollMs <= now; askAt += pollMs) {
      meter.expect('get_order')
      // An answer that was an error is in no figure, and neither is what it held back: both are missing.
      if (!hasFailed) meter.record('get_order', now - askAt - pollMs, silence)
    }
    if (!hadInvoice && order.invoice !== null) watch.reachInvoice()
    hadInvoice = order.invoice !== null
    noteStages(order, watch.reach)
    if (isEnded(order.status)) return watch.end()
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

/** @returns how long the market wants to be left alone, whether its answer was an error, and why none came, where none did */
async function poll({ market, meter, tally }: Run, order: LoadOrder, askAt: number) {
  try {
    await look(market, order)
    meter.record('get_order', performance.now() - askAt)
    return { pauseMs: 0, hasFailed: false, silence: undefined }
  } catch (error) {
    const trouble = asTrouble(error)
    const silence = silenceOf(trouble)
    if (silence) meter.record('get_order', performance.now() - askAt, silence)
    if (tally.note(`${order.kind}: get_order`, trouble)) tally.unasked++
    return { pauseMs: trouble.pauseMs ?? 0, hasFailed: silence === undefined, silence }
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

async function openPage({ market, meter, tally }: Run, page: string): Promise<void> {
  const startedAt = performance.now()
  const record = (silence?: Silence): void => meter.record('page', performance.now() - startedAt, silence)
  meter.expect('page')
  await guarded(
    tally,
    'page',
    async () => {
      await market.page(page)
      record()
    },
    (trouble) => {
      const silence = silenceOf(trouble)
      if (silence) record(silence)
    },
  )
}

/** @returns undefined where it came to nothing, which is counted */
async function guarded<T>(
  tally: Tally,
  where: string,
  work: () => Promise<T>,
  failed?: (trouble: Trouble) => void,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    const trouble = asTrouble(error)
    tally.note(where, trouble)
    failed?.(trouble)
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
