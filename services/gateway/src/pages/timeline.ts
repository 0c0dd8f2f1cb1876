import { isFailure, type OrderStatus, orderStatuses } from '@penstock/kernel/order-status.ts'
import type { OrderView } from '../views/order-view.ts'
import { words } from './words.ts'

/** `now`: the newest, and more is to come. `next`: still ahead. */
export type Step = {
  readonly state: 'done' | 'now' | 'next' | 'failed' | 'note'
  /** null for what happened beside the statuses, and for what may still come. */
  readonly status: OrderStatus | null
  readonly title: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number | null
}

const LAST = orderStatuses.indexOf('VALID_CHANNEL_OPENING')

/** Nothing changes any more that a buyer waits for. */
export const isFinal = (status: OrderStatus): boolean => orderStatuses.indexOf(status) >= LAST

/** What was, what is and what is still to come. */
export function timelineOf(order: OrderView): readonly Step[] {
  const newest = order.statuses.length - 1
  const passed = order.statuses.map(({ status, at }, index): Step => {
    const { title, text } = words[status]
    return { state: stateOf(status, index === newest), status, title, text, at }
  })
  return [...between(passed, notesOf(order)), ...ahead(order.status)]
}

/** Statuses follow each other as they came, whatever the clocks of those who told them; notes stand where their time is. */
function between(statuses: readonly Step[], notes: readonly Step[]): readonly Step[] {
  let latest = 0
  const placed = statuses.map((step) => ({ step, after: (latest = Math.max(latest, step.at ?? 0)) }))
  const noted = notes.map((step) => ({ step, after: step.at ?? 0 }))
  return [...placed, ...noted].toSorted((one, other) => one.after - other.after).map(({ step }) => step)
}

function stateOf(status: OrderStatus, isNewest: boolean): Step['state'] {
  if (!isNewest) return 'done'
  if (isFailure(status)) return 'failed'
  return isFinal(status) ? 'done' : 'now'
}

/** Sellers that gave up make no status of their own: the next one goes on under the same payment. */
const notesOf = ({ attempts }: OrderView): readonly Step[] =>
  attempts
    .filter(({ attempt }) => attempt > 1)
    .map(({ startedAt }) => ({
      state: 'note',
      status: null,
      title: 'Another seller took over',
      text: 'The one before did not open the channel. Your payment stayed locked meanwhile.',
      at: startedAt,
    }))

const ahead = (status: OrderStatus): readonly Step[] =>
  orderStatuses.slice(orderStatuses.indexOf(status) + 1, LAST + 1).map((next) => {
    const { title, text } = words[next]
    return { state: 'next', status: null, title, text, at: null }
  })
