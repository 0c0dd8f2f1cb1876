import {
  placeBuyOrder,
  requestCancellation,
  refreshOrder,
  type ManualBuyer,
  placeManualOrder,
  placeLsps1Order,
} from './order-requests.ts'
import { type LoadClock, sleepUntil } from '../load-clock.ts'
import { type LoadMarket, getTextAt } from '../market/load-market.ts'
import type { LatencyMeter, LatencyStep } from '../measurements/latency-meter.ts'
import { isStatusEnded, type LoadOrder, parseInvoiceMsat, LOAD_ORDER_STAGES, toOrderStage } from './load-order.ts'
import type { Arrival } from './arrival-schedule.ts'
import type { OrderStopwatch } from '../measurements/order-stopwatch.ts'
import type { LoadCounters } from '../measurements/counters.ts'
import { BUSY, isThrottled, type UnansweredReason, classifyUnanswered, RequestError } from '../market/request-error.ts'
import type { BuyerNode, LoadTargets } from '../market/targets.ts'

/** The parts of a run that the scenario of an order needs. */
export type LoadRun = {
  readonly market: LoadMarket
  readonly targets: LoadTargets
  readonly meter: LatencyMeter
  readonly counters: LoadCounters
  readonly orders: LoadOrder[]
  readonly manualBuyer: ManualBuyer | null
  readonly pollMs: number
  readonly clock: LoadClock
  readonly signal: AbortSignal
  /** Called when the market refuses an order and requests a pause before new orders. */
  readonly holdBack: (pauseMs: number | null) => void
}

/** Runs one order from its start to its end. @param stopwatch started when the order was due */
export async function runOrderScenario(run: LoadRun, arrival: Arrival, stopwatch: OrderStopwatch): Promise<void> {
  const { market, counters, meter, clock } = run
  const { buyers } = run.targets
  const buyer = buyers[arrival.buyer % buyers.length]
  if (!buyer) return
  meter.record('start lag', clock.monotonicMs() - stopwatch.dueAt)
  const placed = await catchRequestError(
    counters,
    `${arrival.kind}: order`,
    () => placeOrder(run, buyer, arrival),
    (requestError) => {
      const unansweredReason = classifyUnanswered(requestError)
      if (unansweredReason) stopwatch.recordUnansweredInvoice(unansweredReason)
      if (isThrottled(requestError)) run.holdBack(requestError.pauseMs ?? null)
      // A refused order has no further steps. Later orders start as scheduled, because the loop is open.
      if (requestError.code === BUSY) {
        stopwatch.recordStep('refused')
        stopwatch.end()
      }
    },
  )
  if (!placed) return
  const { order, page } = placed
  counters.placed++
  run.orders.push(order)
  if (order.invoice !== null) stopwatch.recordInvoice()
  if (page !== null) await openCheckoutPage(run, page)
  if (arrival.kind === 'abandon') return
  if (arrival.kind === 'cancel') await catchRequestError(counters, 'cancel: cancel', () => requestCancellation(market, order))
  await pollUntilEnded(run, order, buyer, stopwatch)
}

async function placeOrder(
  { market, manualBuyer }: LoadRun,
  buyer: BuyerNode,
  arrival: Arrival,
): Promise<{ order: LoadOrder; page: string | null }> {
  if (arrival.kind === 'lsps1') return { order: await placeLsps1Order(market, buyer, arrival), page: null }
  if (arrival.kind !== 'manual') return placeBuyOrder(market, buyer, arrival)
  if (!manualBuyer) throw new RequestError('no offer', 'there is no offer for manual orders')
  return { order: await placeManualOrder(market, buyer, manualBuyer, arrival), page: null }
}

/** Polls at a fixed interval until the order has ended. A buyer that has an invoice pays it first. */
async function pollUntilEnded(run: LoadRun, order: LoadOrder, buyer: BuyerNode, stopwatch: OrderStopwatch): Promise<void> {
  const { meter, counters, pollMs, clock, signal } = run
  let hadInvoice = order.invoice !== null
  let pollAt = clock.monotonicMs()
  let resumeAt = 0
  while (!signal.aborted) {
    if (order.invoice !== null && order.paid === null && mayPay(order)) await payOrder(run, order, buyer)
    pollAt += pollMs
    if (!(await sleepUntil(clock, pollAt, signal))) return
    meter.expect('get_order')
    if (pollAt < resumeAt) {
      counters.unasked++
      continue
    }
    const { pauseMs, hasFailed, silence: unansweredReason } = await pollOnce(run, order, pollAt)
    const now = clock.monotonicMs()
    resumeAt = now + pauseMs
    // Polls that were due during a slow answer are not sent. Each is recorded with the wait that it would have had.
    for (; pollAt + pollMs <= now; pollAt += pollMs) {
      meter.expect('get_order')
      // After an error, the delayed polls have no latency, and count as missing like the failed poll.
      if (!hasFailed) meter.record('get_order', now - pollAt - pollMs, unansweredReason)
    }
    if (!hadInvoice && order.invoice !== null) stopwatch.recordInvoice()
    hadInvoice = order.invoice !== null
    recordStages(order, stopwatch.recordStep)
    if (isStatusEnded(order.status)) return stopwatch.end()
  }
}

const mayPay = ({ kind, status }: LoadOrder): boolean => kind !== 'cancel' && !isStatusEnded(status)

async function payOrder({ targets, counters }: LoadRun, order: LoadOrder, { alias }: BuyerNode): Promise<void> {
  const { invoice } = order
  if (!targets.simulation || alias === null || invoice === null) return
  order.isPaymentUncertain = true
  try {
    const payment = await targets.simulation.operator('POST', '/sim/pay', { invoice, from: alias })
    order.paid = { hash: getTextAt(payment, 'payment_hash'), amountMsat: parseInvoiceMsat(invoice) ?? 0n }
    order.isPaymentUncertain = false
    if (getTextAt(payment, 'state') === 'FAILED')
      counters.recordError('pay', new RequestError('payment failed', "the buyer's node could not make the payment"))
  } catch (error) {
    // The payment may have been sent. The loop repeats the request, because a second request does not pay an invoice twice.
    counters.recordError('pay', toKnownRequestError(error))
  }
}

/** @returns the pause that the market requests, whether its answer was an error, and the reason if no answer came */
async function pollOnce({ market, meter, counters, clock }: LoadRun, order: LoadOrder, pollAt: number) {
  try {
    await refreshOrder(market, order)
    meter.record('get_order', clock.monotonicMs() - pollAt)
    return { pauseMs: 0, hasFailed: false, silence: undefined }
  } catch (error) {
    const requestError = toKnownRequestError(error)
    const unansweredReason = classifyUnanswered(requestError)
    if (unansweredReason) meter.record('get_order', clock.monotonicMs() - pollAt, unansweredReason)
    if (counters.recordError(`${order.kind}: get_order`, requestError)) counters.unasked++
    return { pauseMs: requestError.pauseMs ?? 0, hasFailed: unansweredReason === undefined, silence: unansweredReason }
  }
}

const STEP_OF_STAGE = { held: 'payment held', opening: 'opening', settled: 'settled' } as const

/** Records every stage up to the current one. A stage that no poll observed is recorded now, as an upper bound. */
function recordStages(order: LoadOrder, record: (step: LatencyStep) => void): void {
  const currentStage = toOrderStage(order.status)
  if (currentStage === undefined) return
  for (const stage of LOAD_ORDER_STAGES.slice(
    LOAD_ORDER_STAGES.indexOf(order.stage) + 1,
    LOAD_ORDER_STAGES.indexOf(currentStage) + 1,
  )) {
    if (stage !== 'ordered') record(STEP_OF_STAGE[stage])
    order.stage = stage
  }
}

async function openCheckoutPage({ market, meter, counters, clock }: LoadRun, page: string): Promise<void> {
  const openedAt = clock.monotonicMs()
  const record = (unansweredReason?: UnansweredReason): void =>
    meter.record('page', clock.monotonicMs() - openedAt, unansweredReason)
  meter.expect('page')
  await catchRequestError(
    counters,
    'page',
    async () => {
      await market.page(page)
      record()
    },
    (requestError) => {
      const unansweredReason = classifyUnanswered(requestError)
      if (unansweredReason) record(unansweredReason)
    },
  )
}

/** @returns undefined after a RequestError, which the counters record */
async function catchRequestError<T>(
  counters: LoadCounters,
  where: string,
  call: () => Promise<T>,
  onError?: (requestError: RequestError) => void,
): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    const requestError = toKnownRequestError(error)
    counters.recordError(where, requestError)
    onError?.(requestError)
    return undefined
  }
}

export function toKnownRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  throw error
}
