import { isFailure, isOpenStatus, type OrderStatus, orderStatuses } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderView } from '../market/views/order-view.ts'
import { statusTexts } from './status-text.ts'

/** `now`: the newest step of an open order. `next`: a step that is still ahead. */
export type TimelineStep = {
  readonly state: 'done' | 'now' | 'next' | 'failed' | 'note'
  /** Null for notes, and for steps that are still ahead. */
  readonly status: OrderStatus | null
  readonly title: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number | null
}

const LAST_STATUS_INDEX = orderStatuses.indexOf('VALID_CHANNEL_OPENING')

/** @returns the past steps and notes, the newest step, and the steps that are still ahead */
export function buildTimeline(order: OrderView): readonly TimelineStep[] {
  const newest = order.statuses.length - 1
  const pastSteps = order.statuses.map(({ status, at }, index): TimelineStep => {
    const { title, text } = statusTexts[status]
    return { state: selectStepState(status, index === newest), status, title, text, at }
  })
  return [...mergeByTime(pastSteps, listSellerChanges(order)), ...listStepsAhead(order.status)]
}

/** Keeps the recorded order of the statuses, even if clocks disagree, and inserts the notes by their time. */
function mergeByTime(statuses: readonly TimelineStep[], notes: readonly TimelineStep[]): readonly TimelineStep[] {
  let latest = 0
  const timedSteps = statuses.map((step) => ({ step, after: (latest = Math.max(latest, step.at ?? 0)) }))
  const timedNotes = notes.map((step) => ({ step, after: step.at ?? 0 }))
  return [...timedSteps, ...timedNotes].toSorted((one, other) => one.after - other.after).map(({ step }) => step)
}

function selectStepState(status: OrderStatus, isNewest: boolean): TimelineStep['state'] {
  if (!isNewest) return 'done'
  if (isFailure(status)) return 'failed'
  return isOpenStatus(status) ? 'now' : 'done'
}

/** A change of the seller adds a note and no status, because the next seller continues with the same payment. */
const listSellerChanges = ({ attempts }: OrderView): readonly TimelineStep[] =>
  attempts
    .filter(({ attempt }) => attempt > 1)
    .map(({ startedAt }) => ({
      state: 'note',
      status: null,
      title: 'Another seller took over',
      text: 'The one before did not open the channel. Your payment stayed locked meanwhile.',
      at: startedAt,
    }))

const listStepsAhead = (status: OrderStatus): readonly TimelineStep[] =>
  orderStatuses.slice(orderStatuses.indexOf(status) + 1, LAST_STATUS_INDEX + 1).map((next) => {
    const { title, text } = statusTexts[next]
    return { state: 'next', status: null, title, text, at: null }
  })
