import type { Meter, Step } from './meter.ts'
import type { Kind } from './shares.ts'
import type { Silence } from './trouble.ts'

/** Times one order from the moment at which it was due, and knows what is still to come of it. */
export type Stopwatch = {
  readonly dueAt: number
  readonly reach: (step: Step) => void
  /** The buyer has something to pay. */
  readonly reachInvoice: () => void
  /** Nothing came of the first request but a wait, which is the least that the buyer's invoice would have taken. */
  readonly invoiceUnanswered: (silence: Silence) => void
  /** The order has ended. What it has not reached by now never comes, and is not missing. */
  readonly end: () => void
}

const INVOICE_OF: Readonly<Record<Kind, Step>> = {
  buy: 'invoice (buy)',
  lsps1: 'invoice (lsps1)',
  manual: 'invoice (manual)',
  abandon: 'invoice (buy)',
  cancel: 'invoice (buy)',
}
const PAID_STEPS: readonly Step[] = ['payment held', 'opening', 'settled']

type Order = {
  readonly kind: Kind
  /** By performance.now(). */
  readonly dueAt: number
  /** Whether buyers can pay in this run. */
  readonly canPay: boolean
}

/** Begun for every order that is due, sent or not: what is expected and does not come is missing from the figures. */
export function openStopwatch(meter: Meter, { kind, dueAt, canPay }: Order): Stopwatch {
  const invoice = INVOICE_OF[kind]
  const awaited = new Set([invoice, ...(canPay && kind !== 'abandon' && kind !== 'cancel' ? PAID_STEPS : [])])
  for (const step of awaited) meter.expect(step)
  const reach = (step: Step): void => {
    // On a real network somebody may pay whom nobody here knows of.
    if (!awaited.delete(step)) meter.expect(step)
    meter.record(step, performance.now() - dueAt)
  }
  return {
    dueAt,
    reach,
    reachInvoice: () => reach(invoice),
    invoiceUnanswered(silence) {
      awaited.delete(invoice)
      meter.record(invoice, performance.now() - dueAt, silence)
    },
    end() {
      for (const step of awaited) meter.waive(step)
    },
  }
}
