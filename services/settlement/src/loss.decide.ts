import type { EvidenceData, LossCause, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { lastHeightOf } from './heights.ts'
import type { Hold } from './hold.ts'
import { judged, recordedOf } from './judged.ts'
import { lossPosting, lossRefutedPosting, owedMsat } from './ledger.ts'
import type { Data, Settlement, SettlementDecision } from './state.ts'

/**
 * Where the market let a payment go that it should have taken, its operator bears the loss and the seller is paid all the
 * same (decision A4): the node gave it back by itself, it was not ready when the guard had to speak, the payment could not be
 * taken in time, or an operator closed the order. A settlement that was requested is proof enough; else the chain and our
 * node have to show a confirmation by the last height, and the peer proof.
 */

/** Asks, beside a release for this cause, whether the operator bears it. Nobody loses a channel that nobody named. */
export function lossAsked({ request, noted, payment }: Hold, cause: LossCause): readonly SettlementFact[] {
  if (!request || !noted || !payment) return []
  return [{ type: 'LossAsked', v: 1, data: { cause, untilHeight: payment.expiryHeight + request.withheldBlocks } }]
}

/** A payment that was to be settled, and went back: the proof is there. */
export function lossOfSettling(hold: Hold, cause: LossCause, height: number): readonly SettlementFact[] {
  return hold.proof ? borne(hold, cause, height, hold.proof.peer) : []
}

/** The seller's amount becomes a payable of the operator, who confirms it before anything is paid. */
function borne({ noted }: Hold, cause: LossCause, height: number, peer: 'graph' | 'probe' | null): readonly SettlementFact[] {
  if (!noted) return []
  const amountMsat = noted.sellerAmountMsat
  const reason = 'The market let the payment go, and the channel stands; an operator confirms the loss before it is paid.'
  return [
    { type: 'LossBorne', v: 1, data: { cause, height, peer, amountMsat } },
    { type: 'IncidentNoted', v: 1, data: { what: 'operator-loss', height } },
    lossPosting(BigInt(amountMsat)),
    { type: 'PayoutWithheld', v: 2, data: { cause: 'operator-loss', reason, untilHeight: height } },
  ]
}

/** What a block shows of a channel whose payment was let go. */
export function judgeLoss({ hold, loss }: Settlement, evidence: EvidenceData, { height }: Data<'Guard'>): SettlementDecision {
  const { noted } = hold
  if (loss?.status !== 'asked' || hold.status !== 'cancelled' || !noted) return accept()
  const verdict = judged(noted.terms, evidence, { lastHeight: true, recorded: recordedOf(hold) })
  if (verdict.verdict === 'wrong' || verdict.verdict === 'spent') return accept(refuted(height, verdict.sentence, null))
  const inTime = evidence.output?.height ?? Number.POSITIVE_INFINITY
  if (inTime <= (lastHeightOf(hold) ?? 0)) {
    // A spend that waits for a block decides first.
    if (verdict.verdict === 'valid' && verdict.peer !== null && !verdict.spendWaits)
      return accept(...borne(hold, loss.cause, height, verdict.peer))
  } else if (inTime < Number.POSITIVE_INFINITY && evidence.tipHeight - inTime >= DEEP_BLOCKS)
    return accept(refuted(height, `The funding confirmed at height ${inTime}, after the payment's last height.`, null))
  return height >= loss.untilHeight ? accept(refuted(height, NOT_PROVEN, null)) : accept()
}

/** No re-organisation that is expected takes a funding back from so deep, into a lower block. */
const DEEP_BLOCKS = 6
const NOT_PROVEN = 'Nothing has proven the channel by the end of the wait.'

/** By the timer, should the chain have shown nothing at all. */
export const endLoss = ({ hold, loss }: Settlement, { height }: Data<'EndLoss'>): SettlementDecision =>
  hold.status === 'cancelled' && loss?.status === 'asked' && height >= loss.untilHeight
    ? accept(refuted(height, NOT_PROVEN, null))
    : accept()

const refuted = (height: number, reason: string, by: string | null): SettlementFact => ({
  type: 'LossRefuted',
  v: 1,
  data: { height, reason, by },
})

/** Nothing is paid after all: the payable goes back to where it came from. */
export const lossDropped = (state: Settlement, height: number, reason: string, by: string | null): readonly SettlementFact[] => [
  refuted(height, reason, by),
  lossRefutedPosting(owedMsat(state.balances)),
]
