import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import type { Hold } from './hold.ts'
import { toHoldHeld } from './hold.decide.ts'
import { startLossCheck, bearLossOfSettling } from '../payout/loss.decide.ts'
import type { SettlementCommandData, SettlementDecision } from '../state.ts'

/** Allowed difference to the node's clock: an invoice that the node cancels this close to its expiry has expired. */
const CLOCK_SKEW_MS = 60_000

type CancelCause = Extract<SettlementFact, { type: 'CancelRequested' }>['data']

export function cancelHold(hold: Hold, { sentence, byOperator }: SettlementCommandData<'CancelHold'>): SettlementDecision {
  switch (hold.status) {
    case 'NONE':
      return accept({ type: 'HoldRefused', v: 1, data: { code: 'withdrawn', reason: sentence } })
    case 'requested':
    case 'open':
    case 'held':
      return accept(
        toCancelRequested({ reason: 'released', verdict: null, sentence }),
        ...(byOperator ? startLossCheck(hold, 'operator-closed') : []),
      )
    case 'settling':
    case 'settled':
      return hold.cancelRefused
        ? accept()
        : accept({ type: 'CancelRefused', v: 1, data: { reason: 'The hold is being settled and can no longer be cancelled.' } })
    case 'cancelling':
    case 'cancelled':
      return accept()
  }
}

/** Expires an invoice only while no payment is held, because a payment that arrived in time counts. */
export function expireInvoice(hold: Hold, { deadline, held, node }: SettlementCommandData<'ExpireInvoice'>): SettlementDecision {
  if (hold.status !== 'open' || hold.invoice?.expiresAt !== deadline) return accept()
  // Another node does not have this invoice. The node that has it expires it, and the guard records that at the next block.
  if (hold.request?.node !== node) return accept()
  if (held) return accept(toHoldHeld(held))
  return accept(toCancelRequested({ reason: 'expired', verdict: null, sentence: 'The invoice was not paid in time.' }))
}

/** Records that the node confirmed the cancellation. The buyer now has the money back, or has never paid. */
export function recordCancelled(hold: Hold, { at, unmade }: SettlementCommandData<'RecordCancelled'>): SettlementDecision {
  if (!hold.cancel || !isAwaitingCancel(hold)) return accept()
  // The node created the invoice after the effect had checked, so the effect has to check again.
  if (unmade && hold.invoice) return accept()
  const missedAt = hold.status === 'settling' ? hold.missedAtHeight : null
  const loss = missedAt === null ? [] : bearLossOfSettling(hold, 'not-taken-in-time', missedAt)
  return accept(toHoldCancelled(at, hold.cancel), ...loss)
}

/** @returns whether the node has, or may have, an invoice or a payment that must be cancelled */
export const isAwaitingCancel = ({ status, atNode, cancel }: Hold): boolean =>
  status === 'cancelling' ||
  (status === 'settling' && cancel !== null) ||
  (status === 'cancelled' && (atNode === 'open' || atNode === 'held'))

/**
 * Records a cancellation that no command requested: by lnd near the expiry height, by expiry, or at the node's console.
 */
export function recordNodeCancelled(
  hold: Hold,
  { at, height }: SettlementCommandData<'RecordNodeCancelled'>,
): SettlementDecision {
  switch (hold.status) {
    case 'open': {
      const isExpired = at + CLOCK_SKEW_MS >= (hold.invoice?.expiresAt ?? Number.POSITIVE_INFINITY)
      const cause: CancelCause = isExpired
        ? { reason: 'expired', verdict: null, sentence: 'The invoice was not paid in time.' }
        : { reason: 'node', verdict: null, sentence: 'The node cancelled the invoice before it was paid.' }
      return accept(toCancelRequested(cause), toHoldCancelled(at, cause))
    }
    case 'held': {
      const cause = nodeCancelCause(hold, height)
      return accept(toCancelRequested(cause), ...startLossCheck(hold, 'node-gave-back'), toHoldCancelled(at, cause))
    }
    case 'settling':
      // The incident of a missed settlement is already recorded.
      if (hold.cancel) return recordCancelled(hold, { at, unmade: false })
      return accept(
        { type: 'IncidentRecorded', v: 1, data: { what: 'hold-lost-while-settling', height } },
        toHoldCancelled(at, nodeCancelCause(hold, height)),
        ...bearLossOfSettling(hold, 'node-gave-back', height),
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

/** Gives no verdict on a recorded outpoint, because the order knows whether its funding was confirmed. */
const nodeCancelCause = ({ registered }: Hold, height: number): CancelCause => ({
  reason: 'node',
  verdict: registered ? null : 'unnamed',
  sentence: `The node cancelled the payment by itself at height ${height}.`,
})

export const toCancelRequested = (cause: CancelCause): SettlementFact => ({ type: 'CancelRequested', v: 2, data: cause })

const toHoldCancelled = (at: number, { reason, verdict, sentence }: CancelCause): SettlementFact => ({
  type: 'HoldCancelled',
  v: 2,
  data: { at, reason, verdict, sentence },
})
