import type { EvidenceData, NotedOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { cancelRequested } from './cancel.decide.ts'
import { isClaimable, lastHeightOf, mayWait } from './heights.ts'
import { type Hold, type HoldRequest, namingOf } from './hold.ts'
import { judged } from './judged.ts'
import { watchPayout } from './payout.decide.ts'
import type { CommandOf, Data, Settlement, SettlementDecision } from './state.ts'

/** Part of every hold's length: the guard's own blocks, and those that a payer's node adds or loses. */
const SPARE_BLOCKS = 30
const LEAST_CONFIRMATIONS = 6

/** The last height at which a seller may still broadcast and be proven in time. */
const lastBroadcastHeight = (
  expiryHeight: number,
  { fundingConfirmsWithinBlocks }: HoldRequest,
  requiredConfirmations: number,
): number => expiryHeight - SPARE_BLOCKS - fundingConfirmsWithinBlocks - Math.max(requiredConfirmations, LEAST_CONFIRMATIONS)

/** What settlement will prove with is its own, before the naming is acknowledged to anybody. */
export function noteOutpoint(hold: Hold, { height, confirmedAtHeight, ...noted }: Data<'NoteOutpoint'>): SettlementDecision {
  const { request, payment } = hold
  if (hold.noted?.outpoint === noted.outpoint) return noteAgain(hold, noted)
  if (hold.noted && isOlder(noted, hold.noted)) return accept()
  if (hold.refusedNamings.includes(namingOf(noted))) return accept()
  const refused = (reason: string, tooLate = false): SettlementDecision =>
    accept({ type: 'OutpointNoteRefused', v: 2, data: { attempt: noted.attempt, outpoint: noted.outpoint, reason, tooLate } })
  if (hold.status !== 'held' || !request || !payment)
    return refused('No payment is waiting for this channel; do not publish its funding.')
  if (height > lastBroadcastHeight(payment.expiryHeight, request, noted.terms.requiredConfirmations))
    return refused('Too few blocks are left for the channel to confirm under this payment; do not publish its funding.', true)
  // Decided here alone: later a re-organisation may move a young transaction into a block as low as this.
  if (confirmedAtHeight !== null && confirmedAtHeight <= payment.heldAtHeight)
    return refused(
      `The transaction is in block ${confirmedAtHeight}, and the payment was held at height ${payment.heldAtHeight}; open a channel for this order.`,
    )
  if (BigInt(noted.sellerAmountMsat) > request.amountMsat - request.leastPlatformFeeMsat)
    return refused('The buyer has not paid enough for this seller.')
  return accept({ type: 'OutpointNoted', v: 2, data: noted })
}

/** Came late: the order has named another since. Who does not count is believed. */
const isOlder = ({ naming }: Pick<NotedOutpoint, 'naming'>, noted: NotedOutpoint): boolean =>
  naming !== 0 && naming < noted.naming

/** An attestation may follow later, and the order may come back to the outpoint; it brings nothing else that is new. */
function noteAgain({ status, noted }: Hold, { attestation, naming }: NotedOutpoint): SettlementDecision {
  const open = status === 'held' || status === 'settling' || status === 'settled'
  if (!noted || !open || isOlder({ naming }, noted)) return accept()
  const isNews = attestation !== null && JSON.stringify(attestation) !== JSON.stringify(noted.attestation)
  const isNewer = status === 'held' && naming > noted.naming
  if (!isNews && !isNewer) return accept()
  const data = { ...noted, attestation: attestation ?? noted.attestation, naming: Math.max(naming, noted.naming) }
  return accept({ type: 'OutpointNoted', v: 2, data })
}

/**
 * The order has seen enough; settlement believes its own eyes only, from now on. An order names no outpoint that is not
 * noted here, so a wish for another is of an earlier naming, and must not take the place of the present one.
 */
export const settleHold = ({ status, noted, settleAsked }: Hold, { outpoint }: Data<'SettleHold'>): SettlementDecision =>
  status === 'held' && noted?.outpoint === outpoint && settleAsked?.outpoint !== outpoint
    ? accept({ type: 'SettleAsked', v: 1, data: { outpoint } })
    : accept()

/** By the timer, beside the guard: asks for one more proof, should the guard not have come. */
export const lastHeight = (hold: Hold, { height }: Data<'LastHeight'>): SettlementDecision =>
  hold.status === 'held' && height === lastHeightOf(hold) && !hold.lastHeightReached
    ? accept({ type: 'LastHeightReached', v: 1, data: { height } })
    : accept()

/** The word on a block. Evidence about an outpoint that is no longer the noted one says nothing. */
export function guard(state: Settlement, { at, data }: CommandOf<'Guard'>): SettlementDecision {
  const { hold } = state
  if ((hold.noted?.outpoint ?? null) !== data.outpoint) return accept()
  if (hold.status === 'settled') return data.evidence ? watchPayout(state, data.evidence, { at, ...data }) : accept()
  if (hold.status !== 'held') return accept()
  const isLast = data.height >= (lastHeightOf(hold) ?? Number.POSITIVE_INFINITY)
  const asked = hold.settleAsked !== null && hold.settleAsked.outpoint === data.outpoint
  if (!isLast && !asked) return accept()
  if (!hold.noted) return accept(atLast('unnamed', 'No funding transaction was named before the last height.'))
  const height = Math.max(data.height, data.evidence?.tipHeight ?? 0)
  const when = { isLast, isClaimable: isClaimable(hold, height), mayWait: !data.nodeReady && mayWait(hold, height) }
  if (data.evidence) return weigh(hold.noted, data.evidence, when)
  return isLast && !when.mayWait
    ? accept(atLast(null, 'What the chain says could not be learnt before the last height.'))
    : accept()
}

/** `mayWait`: our node has just come back and lacks what it may have in some blocks. */
type When = { readonly isLast: boolean; readonly isClaimable: boolean; readonly mayWait: boolean }

function weigh({ outpoint, terms }: NonNullable<Hold['noted']>, evidence: EvidenceData, when: When): SettlementDecision {
  const { isLast } = when
  const verdict = judged(terms, evidence, { lastHeight: isLast })
  if (verdict.verdict === 'valid' && !when.isClaimable)
    return accept(atLast(null, 'The channel was proven when too few blocks were left to take the payment.'))
  if (verdict.verdict === 'valid') {
    const { confirmations, peer, payoutWithheldUntil } = verdict
    const proof = { outpoint, tipHeight: evidence.tipHeight, confirmations, peer, withheld: payoutWithheldUntil !== 'none' }
    return accept({ type: 'SettleRequested', v: 1, data: { proof, lastHeight: isLast } })
  }
  // Before the last height a wrong channel is the order's to release, with what the timeline needs to say.
  if (!isLast) return accept()
  if (verdict.verdict === 'wrong') return accept(atLast('wrong', verdict.sentence))
  if (when.mayWait) return accept()
  return verdict.waitingFor === 'transaction' || verdict.waitingFor === 'confirmations'
    ? accept(atLast('unconfirmed', 'The funding transaction had no confirmation at the last height.'))
    : accept(atLast('unproven', 'Nothing but the chain had proven the channel at the last height.'))
}

/** @param verdict null: nothing could be learnt, and the order knows how far its funding had come */
const atLast = (verdict: 'wrong' | 'unconfirmed' | 'unproven' | 'unnamed' | null, sentence: string): SettlementFact =>
  cancelRequested({ reason: 'last-height', verdict, sentence })
