import type { OrderFact } from '@penstock/contracts/order.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { attemptMachine } from './attempt.machine.ts'
import type { Attempt, AttemptStatus } from './state.ts'

type AttemptEvent =
  | 'ChannelOpenRequested'
  | 'OutpointAccepted'
  | 'FundingReorgedRecorded'
  | 'ChannelOpened'
  | 'AttemptFailed'
  | 'Replaced'

export const attemptLifecycle = compileLifecycle<AttemptStatus, AttemptEvent>(attemptMachine)

/** @throws Bug if the event cannot follow the attempt's status; the order's decisions never lead to this */
const applyEvent = (attempt: Attempt, event: AttemptEvent): Attempt => {
  const status = attemptLifecycle.after(attempt.status, event)
  if (!status) throw new Bug(`${event} cannot follow ${attempt.status} of attempt ${attempt.number}`)
  return { ...attempt, status }
}

const applyToAttempt = (attempts: readonly Attempt[], number: number, event: AttemptEvent): readonly Attempt[] =>
  attempts.map((attempt) => (attempt.number === number ? applyEvent(attempt, event) : attempt))

const applyToStatuses = (
  attempts: readonly Attempt[],
  statuses: readonly AttemptStatus[],
  event: AttemptEvent,
): readonly Attempt[] => attempts.map((attempt) => (statuses.includes(attempt.status) ? applyEvent(attempt, event) : attempt))

/** Adds an accepted outpoint. The submission window of the first outpoint stays in force for all later outpoints. */
const addOutpoint = (
  attempt: Attempt,
  { outpoint, window }: Extract<OrderFact, { type: 'OutpointAccepted' }>['data'],
): Attempt => ({
  ...attempt,
  outpoints: attempt.outpoints.includes(outpoint) ? attempt.outpoints : [...attempt.outpoints, outpoint],
  window: attempt.window ?? window ?? null,
})

/** Applies a fact of the order to its attempts. */
export function evolveAttempts(attempts: readonly Attempt[], { type, data }: OrderFact): readonly Attempt[] {
  switch (type) {
    case 'AttemptStarted': {
      const { attempt: number, candidate } = data
      return [
        ...applyToStatuses(attempts, ['failed'], 'Replaced'),
        { number, candidate, status: 'accepted', openBefore: null, renewals: 0, outpoints: [], window: null },
      ]
    }
    case 'ChannelOpenRequested':
      return applyToAttempt(attempts, data.attempt, type).map((attempt) =>
        attempt.number === data.attempt ? { ...attempt, openBefore: data.openBefore } : attempt,
      )
    case 'AttemptFailed':
      return applyToAttempt(attempts, data.attempt, type)
    case 'OutpointAccepted':
      return applyToAttempt(attempts, data.attempt, type).map((attempt) =>
        attempt.number === data.attempt ? addOutpoint(attempt, data) : attempt,
      )
    case 'LateOutpointSubmitted':
      return attempts.map((attempt) =>
        attempt.number === data.attempt ? { ...attempt, renewals: attempt.renewals + 1 } : attempt,
      )
    case 'ChannelOpened':
      return applyToStatuses(attempts, ['named'], type)
    case 'FundingReorgedRecorded':
      return applyToStatuses(attempts, ['named', 'opened'], type)
    case 'SellerRejected':
    case 'BuyerRejected':
    case 'BuyerFailedToPay':
    case 'SellerFailedToOpenChannel':
    case 'SellerFailedToSendSwap':
    case 'InvalidChannelOpening':
    case 'AdminClosed':
      return applyToStatuses(attempts, ['accepted', 'opening', 'named', 'opened'], 'AttemptFailed')
    default:
      return attempts
  }
}
