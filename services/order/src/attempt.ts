import type { OrderFact } from '@penstock/contracts/order.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { attemptMachine } from './attempt.machine.ts'
import type { Attempt, AttemptStatus } from './state.ts'

type AttemptEvent = 'OpeningAsked' | 'OutpointNamed' | 'FundingReorged' | 'ChannelOpened' | 'AttemptFailed' | 'Replaced'

export const attemptLifecycle = compile<AttemptStatus, AttemptEvent>(attemptMachine)

/** @throws Bug for an event that cannot follow: the order's decisions let none through */
const moved = (attempt: Attempt, event: AttemptEvent): Attempt => {
  const status = attemptLifecycle.after(attempt.status, event)
  if (!status) throw new Bug(`${event} cannot follow ${attempt.status} of attempt ${attempt.number}`)
  return { ...attempt, status }
}

const move = (attempts: readonly Attempt[], number: number, event: AttemptEvent): readonly Attempt[] =>
  attempts.map((attempt) => (attempt.number === number ? moved(attempt, event) : attempt))

const moveThose = (attempts: readonly Attempt[], statuses: readonly AttemptStatus[], event: AttemptEvent): readonly Attempt[] =>
  attempts.map((attempt) => (statuses.includes(attempt.status) ? moved(attempt, event) : attempt))

/** The first window stays in force, however often another outpoint is named. */
const named = (attempt: Attempt, { outpoint, window }: Extract<OrderFact, { type: 'OutpointNamed' }>['data']): Attempt => ({
  ...attempt,
  outpoints: attempt.outpoints.includes(outpoint) ? attempt.outpoints : [...attempt.outpoints, outpoint],
  window: attempt.window ?? window ?? null,
})

/** What a fact of the order means to its attempts. */
export function evolveAttempts(attempts: readonly Attempt[], { type, data }: OrderFact): readonly Attempt[] {
  switch (type) {
    case 'AttemptStarted': {
      const { attempt: number, candidate } = data
      return [
        ...moveThose(attempts, ['failed'], 'Replaced'),
        { number, candidate, status: 'accepted', openBefore: null, rereserved: 0, outpoints: [], window: null },
      ]
    }
    case 'OpeningAsked':
      return move(attempts, data.attempt, type).map((attempt) =>
        attempt.number === data.attempt ? { ...attempt, openBefore: data.openBefore } : attempt,
      )
    case 'AttemptFailed':
      return move(attempts, data.attempt, type)
    case 'OutpointNamed':
      return move(attempts, data.attempt, type).map((attempt) =>
        attempt.number === data.attempt ? named(attempt, data) : attempt,
      )
    case 'LateOutpointOffered':
      return attempts.map((attempt) =>
        attempt.number === data.attempt ? { ...attempt, rereserved: attempt.rereserved + 1 } : attempt,
      )
    case 'ChannelOpened':
      return moveThose(attempts, ['named'], type)
    case 'FundingReorged':
      return moveThose(attempts, ['named', 'opened'], type)
    case 'SellerRejected':
    case 'BuyerRejected':
    case 'BuyerFailedToPay':
    case 'SellerFailedToOpenChannel':
    case 'SellerFailedToSendSwap':
    case 'InvalidChannelOpening':
    case 'AdminClosed':
      return moveThose(attempts, ['accepted', 'opening', 'named', 'opened'], 'AttemptFailed')
    default:
      return attempts
  }
}
