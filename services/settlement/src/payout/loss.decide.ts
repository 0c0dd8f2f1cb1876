import type { EvidenceData, LossCause, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { lastHeightOfHold } from '../hold/heights.ts'
import type { Hold } from '../hold/hold.ts'
import { judgeEvidence, recordedPeerProof } from '../hold/verdict.ts'
import { lossPosting, lossRefutedPosting, owedMsat } from './ledger.ts'
import type { SettlementCommandData, Settlement, SettlementDecision } from '../state.ts'

/**
 * If the market cancelled a payment that it should have settled, its operator bears the loss and pays the seller.
 * Four causes start this check. The node cancelled by itself, or was not ready when the guard had to decide. The other causes
 * are a late settlement and the close of the order by an operator. A started settlement is proof enough. Otherwise the chain has
 * to show a confirmation by the last height, and there has to be a peer proof.
 */

/** Starts the check whether the operator bears the loss of a cancellation. Without a recorded outpoint there is no loss. */
export function startLossCheck({ request, registered, payment }: Hold, cause: LossCause): readonly SettlementFact[] {
  if (!request || !registered || !payment) return []
  return [{ type: 'LossSearchStarted', v: 1, data: { cause, untilHeight: payment.expiryHeight + request.withheldBlocks } }]
}

/** Bears the loss of a started settlement that was cancelled; its proof is already recorded. */
export function bearLossOfSettling(hold: Hold, cause: LossCause, height: number): readonly SettlementFact[] {
  return hold.proof ? bearLoss(hold, cause, height, hold.proof.peer) : []
}

/** Posts the seller's amount as a payable of the operator, who has to confirm it before it is paid. */
function bearLoss(
  { registered }: Hold,
  cause: LossCause,
  height: number,
  peer: 'graph' | 'probe' | null,
): readonly SettlementFact[] {
  if (!registered) return []
  const amountMsat = registered.sellerAmountMsat
  const reason = 'The market cancelled the payment of a valid channel; an operator has to confirm the loss before it is paid.'
  return [
    { type: 'LossBorne', v: 1, data: { cause, height, peer, amountMsat } },
    { type: 'IncidentRecorded', v: 1, data: { what: 'operator-loss', height } },
    lossPosting(BigInt(amountMsat)),
    { type: 'PayoutWithheld', v: 2, data: { cause: 'operator-loss', reason, untilHeight: height } },
  ]
}

/** Judges by the evidence of a block whether the operator bears the loss of a cancelled payment. */
export function judgeLoss(
  { hold, loss }: Settlement,
  evidence: EvidenceData,
  { height }: SettlementCommandData<'Guard'>,
): SettlementDecision {
  const { registered } = hold
  if (loss?.status !== 'asked' || hold.status !== 'cancelled' || !registered) return accept()
  const verdict = judgeEvidence(registered.terms, evidence, { lastHeight: true, recorded: recordedPeerProof(hold) })
  const fundingHeight = evidence.output?.height ?? Number.POSITIVE_INFINITY
  // The payment went back, so a buyer may close the channel that it got for free. An operator decides over a proven channel.
  const isProvenBefore = recordedPeerProof(hold) === 'graph' && fundingHeight <= (lastHeightOfHold(hold) ?? 0)
  if (verdict.verdict === 'spent' && isProvenBefore) return accept(...bearLoss(hold, loss.cause, height, 'graph'))
  if (verdict.verdict === 'wrong' || verdict.verdict === 'spent') return accept(toLossRefuted(height, verdict.sentence, null))
  if (fundingHeight <= (lastHeightOfHold(hold) ?? 0)) {
    // While a spend is in the mempool, the loss stays undecided.
    if (verdict.verdict === 'valid' && verdict.peer !== null && !verdict.hasUnconfirmedSpend)
      return accept(...bearLoss(hold, loss.cause, height, verdict.peer))
  } else if (fundingHeight < Number.POSITIVE_INFINITY && evidence.tipHeight - fundingHeight >= DEEP_BLOCKS)
    return accept(
      toLossRefuted(height, `The funding confirmed at height ${fundingHeight}, after the payment's last height.`, null),
    )
  return height >= loss.untilHeight ? accept(toLossRefuted(height, NOT_PROVEN, null)) : accept()
}

/** At this depth, no expected re-organisation moves a funding into a lower block. */
const DEEP_BLOCKS = 6
const NOT_PROVEN = 'The channel was not proven by the end of the wait.'

/** Refutes the loss at the deadline, in case no block gave evidence. */
export const endLoss = ({ hold, loss }: Settlement, { height }: SettlementCommandData<'EndLoss'>): SettlementDecision =>
  hold.status === 'cancelled' && loss?.status === 'asked' && height >= loss.untilHeight
    ? accept(toLossRefuted(height, NOT_PROVEN, null))
    : accept()

const toLossRefuted = (height: number, reason: string, by: string | null): SettlementFact => ({
  type: 'LossRefuted',
  v: 1,
  data: { height, reason, by },
})

/** Refutes a borne loss: the seller is not paid, and the payable is posted back. */
export const dropLoss = (state: Settlement, height: number, reason: string, by: string | null): readonly SettlementFact[] => [
  toLossRefuted(height, reason, by),
  lossRefutedPosting(owedMsat(state.balances)),
]
