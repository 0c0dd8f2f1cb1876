import type { LoadClock } from '../load-clock.ts'
import type { LatencyMeter, LatencyStep } from './latency-meter.ts'
import type { OrderKind } from '../orders/mix.ts'
import type { UnansweredReason } from '../market/request-error.ts'

/** Times one order from the moment at which it was due, and tracks the steps that are still expected. */
export type OrderStopwatch = {
  readonly dueAt: number
  readonly recordStep: (step: LatencyStep) => void
  /** Records that the buyer has an invoice to pay. */
  readonly recordInvoice: () => void
  /** Records that the placement got no answer. The time until now is a lower bound of the time to the buyer's invoice. */
  readonly recordUnansweredInvoice: (unansweredReason: UnansweredReason) => void
  /** The order has ended. Steps that it has not reached do not count as missing. */
  readonly end: () => void
}

const INVOICE_STEPS: Readonly<Record<OrderKind, LatencyStep>> = {
  buy: 'invoice (buy)',
  lsps1: 'invoice (lsps1)',
  manual: 'invoice (manual)',
  abandon: 'invoice (buy)',
  cancel: 'invoice (buy)',
}
const PAID_STEPS: readonly LatencyStep[] = ['payment held', 'opening', 'settled']

type TimedOrder = {
  readonly kind: OrderKind
  /** The due time, by the monotonic clock. */
  readonly dueAt: number
  /** Whether buyers can pay in this run. */
  readonly canPay: boolean
}

/** Starts the stopwatch of a due order. An order that is never sent needs one too, so that its steps count as missing. */
export function startOrderStopwatch(
  { meter, clock }: { readonly meter: LatencyMeter; readonly clock: LoadClock },
  { kind, dueAt, canPay }: TimedOrder,
): OrderStopwatch {
  const invoice = INVOICE_STEPS[kind]
  const expectedSteps = new Set([invoice, ...(canPay && kind !== 'abandon' && kind !== 'cancel' ? PAID_STEPS : [])])
  for (const step of expectedSteps) meter.expect(step)
  const recordStep = (step: LatencyStep): void => {
    // A step may come unexpectedly: on a real network, a party outside this run may pay the invoice.
    if (!expectedSteps.delete(step)) meter.expect(step)
    meter.record(step, clock.monotonicMs() - dueAt)
  }
  return {
    dueAt,
    recordStep,
    recordInvoice: () => recordStep(invoice),
    recordUnansweredInvoice(unansweredReason) {
      expectedSteps.delete(invoice)
      meter.record(invoice, clock.monotonicMs() - dueAt, unansweredReason)
    },
    end() {
      for (const step of expectedSteps) meter.waive(step)
    },
  }
}
