import type { CancellationReason, OrderFact } from '@penstock/contracts/order.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import type { DataOf } from './command.ts'
import { isAwaited } from './duties.ts'
import { fact, type OrderDecision, release } from './fact.ts'
import { closing, ended, notNow } from './refusal.ts'
import { type Attempt, attemptBy, isEnded, liveAttempt, mostAttempts, type Placed, searching } from './state.ts'

/** Whoever opens: the blocks that are left under a payment only become fewer. */
export const TOO_SOON = 'The payment expires too soon for another opening'

export const matched = (order: Placed, { attempt, candidate }: DataOf<'RecordMatched'>): OrderDecision =>
  searching(order) === attempt ? accept(fact('AttemptStarted', { attempt, candidate })) : accept()

export function unmatched(order: Placed, { attempt, reason }: DataOf<'RecordUnmatched'>): OrderDecision {
  if (searching(order) !== attempt) return accept(...released(order, attempt))
  if (order.unmatched?.attempt === attempt) return accept()
  const failed = fact('SearchFailed', { attempt, reason })
  if (order.offered) return accept(failed)
  // Nobody was tried yet: no seller has what was sold. Else the sellers before failed to open.
  return accept(failed, release(order, attempt === 1 ? 'SELLER_REJECTED' : 'SELLER_FAILED_TO_OPEN_CHANNEL', reason))
}

/** An answer that says there is nothing reserved is as good as a release, where that was asked for. */
export const released = (order: Placed, attempt: number): readonly OrderFact[] =>
  isAwaited(order, { what: 'match-released', key: `${attempt}` })
    ? [fact('Told', { what: 'match-released', key: `${attempt}` })]
    : []

/** Our node tried the buyer's: without it, or without blocks enough, no seller can open, and none is blamed. */
export function buyerReach(
  order: Placed,
  { look, reached, reason, height }: DataOf<'RecordBuyerReach'>,
  at: number,
): OrderDecision {
  const live = liveAttempt(order)
  if (order.closing || !live || look !== order.looks) return accept()
  const isReported = order.reported === live.number
  if (live.status !== 'accepted' && !isReported) return accept()
  if (reached && isReported) return accept(...failReporter(order, live))
  if (reached && height <= order.openBeforeHeight)
    return accept(fact('OpeningAsked', { attempt: live.number, openBefore: at + order.terms.policy.openWindowMs }))
  const why = reached ? TOO_SOON : reason
  // An earlier seller's late outpoint is being looked at: it may have its channel already.
  if (order.offered) return accept(fact('AttemptFailed', { attempt: live.number, reason: why, blamed: false }))
  return accept(release(order, 'SELLER_FAILED_TO_OPEN_CHANNEL', why))
}

/**
 * Our node reaches the buyer's, and the seller's does not. Without an address of the buyer's our node could try nothing
 * that says much: a wallet may connect to its sellers alone, and then the seller is taken at its word.
 */
function failReporter(order: Placed, attempt: Attempt): readonly OrderFact[] {
  const isTold = order.terms.destination.sockets.length > 0
  return failAttempt(order, attempt, "The seller could not connect to the buyer's node", isTold)
}

export function lapseOpening(order: Placed, { attempt, deadline }: DataOf<'LapseOpening'>): OrderDecision {
  const live = liveAttempt(order)
  const isDue = live?.number === attempt && live.status === 'opening' && live.openBefore === deadline
  if (!isDue || order.closing || order.offered || order.reported === attempt) return accept()
  return accept(...failAttempt(order, live, 'The seller named no funding transaction in time'))
}

/** A seller gives up its turn. */
export function giveUp(order: Placed, by: string, reason: string): OrderDecision {
  const attempt = attemptBy(order, by)
  if (attempt?.status === 'failed' || attempt?.status === 'replaced') return accept()
  if (isEnded(order)) return ended(order.ending ?? order.status)
  if (order.closing) return closing(order.closing.reason)
  if (!attempt) return notNow('The order is not paid yet; reject it instead')
  if (attempt.status === 'named' || attempt.status === 'opened')
    return notNow('The funding transaction is named; it cannot be given up')
  if (order.offered) return refuse('BUSY', 'A funding transaction is being recorded; ask again in a moment')
  return reason === UNREACHABLE ? reportUnreachable(order, attempt) : accept(...failAttempt(order, attempt, reason))
}

const UNREACHABLE: CancellationReason = 'UNABLE_TO_CONNECT_TO_NODE'

/** Perhaps it is the buyer's node that is away: our own tries it first, and only then the seller's turn is over. */
function reportUnreachable(order: Placed, { number, status }: Attempt): OrderDecision {
  if (order.reported === number) return accept()
  if (status === 'accepted') return refuse('BUSY', "The buyer's node is still being tried; ask again in a moment")
  const reason = "The seller cannot connect to the buyer's node; ours tries it"
  return accept(fact('UnreachableReported', { attempt: number, reason }))
}

/** The next seller's turn, while there is one: whether the height leaves room is seen when the buyer's node is tried. */
function failAttempt(order: Placed, { number }: Attempt, reason: string, blamed = true): readonly OrderFact[] {
  const failed = fact('AttemptFailed', { attempt: number, reason, blamed })
  // A late outpoint of an earlier seller that is being looked at may still save the order.
  if (number < mostAttempts(order) || order.offered) return [failed]
  return [failed, release(order, 'SELLER_FAILED_TO_OPEN_CHANNEL', reason, blamed)]
}

/** @returns why no seller is left, where that is so */
export function nothingLeft(order: Placed): string | undefined {
  if (liveAttempt(order)) return undefined
  if (order.attempts.length >= mostAttempts(order)) return 'No seller opened the channel'
  return order.unmatched?.attempt === order.attempts.length + 1 ? order.unmatched.reason : undefined
}
