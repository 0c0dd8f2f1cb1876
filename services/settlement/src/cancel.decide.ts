import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import type { Hold } from './hold.ts'
import { heldFact } from './hold.decide.ts'
import { lossAsked, lossOfSettling } from './loss.decide.ts'
import type { Data, SettlementDecision } from './state.ts'

/** The node's clock and ours differ; an invoice that it ended so shortly before its end has expired. */
const CLOCK_SKEW_MS = 60_000

type Why = Extract<SettlementFact, { type: 'CancelRequested' }>['data']

export function cancelHold(hold: Hold, { sentence, byOperator }: Data<'CancelHold'>): SettlementDecision {
  switch (hold.status) {
    case 'NONE':
      return accept({ type: 'HoldRefused', v: 1, data: { code: 'withdrawn', reason: sentence } })
    case 'requested':
    case 'open':
    case 'held':
      return accept(
        cancelRequested({ reason: 'released', verdict: null, sentence }),
        ...(byOperator ? lossAsked(hold, 'operator-closed') : []),
      )
    case 'settling':
    case 'settled':
      return hold.cancelRefused
        ? accept()
        : accept({ type: 'CancelRefused', v: 1, data: { reason: 'The hold is being settled; nothing can release it any more.' } })
    case 'cancelling':
    case 'cancelled':
      return accept()
  }
}

/** An invoice ends only while nothing is held: a payment that made it in time counts. */
export function expireInvoice(hold: Hold, { deadline, held, node }: Data<'ExpireInvoice'>): SettlementDecision {
  if (hold.status !== 'open' || hold.invoice?.expiresAt !== deadline) return accept()
  // Another node knows nothing of it. The one that has it ends it by itself, and the guard sees that at the next block.
  if (hold.request?.node !== node) return accept()
  if (held) return accept(heldFact(held))
  return accept(cancelRequested({ reason: 'expired', verdict: null, sentence: 'The invoice was not paid in time.' }))
}

/** The node confirmed it: only now the buyer has the money back, or can never have paid. */
export function recordCancelled(hold: Hold, { at, unmade }: Data<'RecordCancelled'>): SettlementDecision {
  if (!hold.cancel || !awaitsCancel(hold)) return accept()
  // Made after that look, it is at the node: the effect looks again.
  if (unmade && hold.invoice) return accept()
  const missedAt = hold.status === 'settling' ? hold.missedAtHeight : null
  const loss = missedAt === null ? [] : lossOfSettling(hold, 'not-taken-in-time', missedAt)
  return accept(cancelled(at, hold.cancel), ...loss)
}

/** @returns whether the node has, or may have, something that must go */
export const awaitsCancel = ({ status, atNode, cancel }: Hold): boolean =>
  status === 'cancelling' ||
  (status === 'settling' && cancel !== null) ||
  (status === 'cancelled' && (atNode === 'open' || atNode === 'held'))

/** Nobody asked for it: the node's own last line, an invoice that it ended by itself, or somebody at its console. */
export function recordNodeCancelled(hold: Hold, { at, height }: Data<'RecordNodeCancelled'>): SettlementDecision {
  switch (hold.status) {
    case 'open': {
      const expired = at + CLOCK_SKEW_MS >= (hold.invoice?.expiresAt ?? Number.POSITIVE_INFINITY)
      const why: Why = expired
        ? { reason: 'expired', verdict: null, sentence: 'The invoice was not paid in time.' }
        : { reason: 'node', verdict: null, sentence: 'The node ended the invoice before it was paid.' }
      return accept(cancelRequested(why), cancelled(at, why))
    }
    case 'held': {
      const why = nodesOwn(hold, height)
      return accept(cancelRequested(why), ...lossAsked(hold, 'node-gave-back'), cancelled(at, why))
    }
    case 'settling':
      // What was missed is an incident already.
      if (hold.cancel) return recordCancelled(hold, { at, unmade: false })
      return accept(
        { type: 'IncidentNoted', v: 1, data: { what: 'hold-lost-while-settling', height } },
        cancelled(at, nodesOwn(hold, height)),
        ...lossOfSettling(hold, 'node-gave-back', height),
      )
    case 'cancelling':
    case 'cancelled':
      return recordCancelled(hold, { at, unmade: false })
    case 'NONE':
    case 'requested':
    case 'settled':
      return accept()
  }
}

/** What the chain showed was not judged: whether the funding had confirmed is the order's to say. */
const nodesOwn = ({ noted }: Hold, height: number): Why => ({
  reason: 'node',
  verdict: noted ? null : 'unnamed',
  sentence: `The node gave the payment back by itself at height ${height}.`,
})

export const cancelRequested = (why: Why): SettlementFact => ({ type: 'CancelRequested', v: 2, data: why })

const cancelled = (at: number, { reason, verdict, sentence }: Why): SettlementFact => ({
  type: 'HoldCancelled',
  v: 2,
  data: { at, reason, verdict, sentence },
})
