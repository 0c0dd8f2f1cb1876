import { namingWindow } from '@penstock/bitcoin/naming-window.ts'
import { fundingOutpointFault } from '@penstock/bitcoin/outpoint.ts'
import type { EvidenceData, NotedOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { cancelRequested } from './cancel.decide.ts'
import { isClaimable, lastHeightOf, mayWait } from './heights.ts'
import { type Hold, type HoldRequest, namingOf } from './hold.ts'
import { judgeLoss, lossAsked } from './loss.decide.ts'
import { judged, recordedOf } from './judged.ts'
import { keepingProof } from './peer-proof.ts'
import { type CommandOf, type Data, isOwing, type Settlement, type SettlementDecision } from './state.ts'
import { watchPayout } from './withholding.decide.ts'

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
export function noteOutpoint(
  hold: Hold,
  { height, seesMempool, confirmedAtHeight, enteredMempoolAt, heldSince, ...named }: Data<'NoteOutpoint'>,
): SettlementDecision {
  const { window, fundingSeenBlocks, ...noted } = named
  const { request, payment } = hold
  if (hold.noted?.outpoint === noted.outpoint) return noteAgain(hold, noted)
  if (hold.noted && isOlder(noted, hold.noted)) return accept()
  if (hold.refusedNamings.includes(namingOf(noted))) return accept()
  const refused = (reason: string, tooLate = false): SettlementDecision =>
    accept({ type: 'OutpointNoteRefused', v: 2, data: { attempt: noted.attempt, outpoint: noted.outpoint, reason, tooLate } })
  if (hold.status !== 'held' || !request || !payment)
    return refused('No payment is waiting for this channel; do not publish its funding.')
  // Checked here too: the proof of an outpoint that no channel can have would be waited for up to the last height.
  const fault = fundingOutpointFault(noted.outpoint)
  if (fault !== undefined) return refused(`${fault}; do not publish it.`)
  if (height > lastBroadcastHeight(payment.expiryHeight, request, noted.terms.requiredConfirmations))
    return refused('Too few blocks are left for the channel to confirm under this payment; do not publish its funding.', true)
  if (window && height >= window.namedBefore)
    return refused(
      `From height ${window.namedBefore} on another transaction could not be seen in time; do not publish its funding.`,
    )
  // Decided here alone: later a re-organisation may move a young transaction into a block as low as this.
  if (confirmedAtHeight !== null && confirmedAtHeight <= payment.heldAtHeight)
    return refused(
      `The transaction is in block ${confirmedAtHeight}, and the payment was held at height ${payment.heldAtHeight}; open a channel for this order.`,
    )
  const heldAt = heldSince[request.paymentHash] ?? null
  if (enteredMempoolAt !== null && heldAt !== null && enteredMempoolAt < heldAt)
    return refused('The transaction was in the mempool before the payment was held; open a channel for this order.')
  if (BigInt(noted.sellerAmountMsat) > request.amountMsat - request.leastPlatformFeeMsat)
    return refused('The buyer has not paid enough for this seller.')
  if (fundingSeenBlocks === undefined) return accept({ type: 'OutpointNoted', v: 3, data: noted })
  const { fundingConfirmsWithinBlocks } = request
  const first = window ?? namingWindow(height, { fundingSeenBlocks, fundingConfirmsWithinBlocks, seesMempool })
  return accept({ type: 'OutpointNoted', v: 3, data: { ...noted, window: first } })
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
  return accept({ type: 'OutpointNoted', v: 3, data })
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
export function guard(state: Settlement, { data }: CommandOf<'Guard'>): SettlementDecision {
  const { hold } = state
  if ((hold.noted?.outpoint ?? null) !== data.outpoint) return accept()
  if (hold.status === 'settled' || isOwing(state)) return data.evidence ? watchPayout(state, data.evidence, data) : accept()
  if (hold.status === 'cancelled') return data.evidence ? judgeLoss(state, data.evidence, data) : accept()
  if (hold.status !== 'held') return accept()
  return keepingProof(hold, data, decideHeld(hold, data))
}

function decideHeld(hold: Hold, data: Data<'Guard'>): SettlementDecision {
  const isLast = data.height >= (lastHeightOf(hold) ?? Number.POSITIVE_INFINITY)
  const asked = hold.settleAsked !== null && hold.settleAsked.outpoint === data.outpoint
  if (!isLast && !asked) return accept()
  if (!hold.noted) return accept(atLast('unnamed', 'No funding transaction was named before the last height.'))
  const height = Math.max(data.height, data.evidence?.tipHeight ?? 0)
  const when = {
    height: data.height,
    isLast,
    isClaimable: isClaimable(hold, height),
    mayWait: !data.nodeReady && mayWait(hold, height),
    isNodeReady: data.nodeReady,
  }
  if (data.evidence) return weigh(hold, hold.noted, data.evidence, when)
  // A chain that says nothing now may say more in some blocks.
  return isLast && !mayWait(hold, height)
    ? accept(atLast(null, 'What the chain says could not be learnt before the last height.'), ...lossAsked(hold, 'not-ready'))
    : accept()
}

/** `mayWait`: our node has just come back and lacks what it may have in some blocks. */
type When = {
  readonly height: number
  readonly isLast: boolean
  readonly isClaimable: boolean
  readonly mayWait: boolean
  readonly isNodeReady: boolean
}

function weigh(hold: Hold, { outpoint, terms }: NotedOutpoint, evidence: EvidenceData, when: When): SettlementDecision {
  const { reachTries } = hold
  const { isLast } = when
  // What a node that is not ready does not show may be there all the same.
  const unready = when.isNodeReady ? [] : lossAsked(hold, 'not-ready')
  const verdict = judged(terms, evidence, { lastHeight: isLast, recorded: recordedOf(hold) })
  const isChainOnly = verdict.verdict === 'valid' && verdict.peer === null
  // A buyer that can be reached can prove the channel too: without its proof a seller may have opened it to itself.
  if (isChainOnly && reachTries?.reached)
    return when.mayWait
      ? accept()
      : accept(atLast('unproven', 'The buyer was reached, and only the chain had proven the channel.'), ...unready)
  // That such a node did not reach the buyer says nothing about it, nor does a probe: it may have gone through another
  // channel of the two that the node has not heard of yet.
  if (verdict.verdict === 'valid' && verdict.peer !== 'graph' && !when.isNodeReady)
    return when.mayWait
      ? accept()
      : accept(
          atLast('unproven', `Our node was not ready, and only ${isChainOnly ? 'the chain' : 'a probe'} had proven the channel.`),
          ...unready,
        )
  if (verdict.verdict === 'valid' && !when.isClaimable)
    return accept(
      atLast(null, 'The channel was proven when too few blocks were left to take the payment.'),
      ...lossAsked(hold, 'not-ready'),
    )
  // Undecided until our node has tried at this very height.
  if (isChainOnly && (reachTries === null || reachTries.height < when.height)) return accept()
  if (verdict.verdict === 'valid') {
    const { confirmations, peer, payoutWithheldUntil, spendWaits } = verdict
    const withheld = payoutWithheldUntil !== 'none' || spendWaits
    const proof = { outpoint, tipHeight: evidence.tipHeight, confirmations, peer, withheld }
    return accept({ type: 'SettleRequested', v: 1, data: { proof, lastHeight: isLast } })
  }
  // Before the last height a wrong channel is the order's to release, with what the timeline needs to say.
  if (!isLast) return accept()
  if (verdict.verdict === 'wrong' || verdict.verdict === 'spent') return accept(atLast(verdict.verdict, verdict.sentence))
  if (when.mayWait) return accept()
  return verdict.waitingFor === 'transaction' || verdict.waitingFor === 'confirmations'
    ? accept(atLast('unconfirmed', 'The funding transaction had no confirmation at the last height.'), ...unready)
    : accept(atLast('unproven', 'Nothing but the chain had proven the channel at the last height.'), ...unready)
}

/** @param verdict null: nothing could be learnt, and the order knows how far its funding had come */
const atLast = (verdict: 'wrong' | 'spent' | 'unconfirmed' | 'unproven' | 'unnamed' | null, sentence: string): SettlementFact =>
  cancelRequested({ reason: 'last-height', verdict, sentence })
