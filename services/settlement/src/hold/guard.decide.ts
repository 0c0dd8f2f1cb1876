import { computeSubmissionWindow } from '@penstock/bitcoin/submission-window.ts'
import { validateFundingOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { lastBroadcastHeight } from '@penstock/contracts/order/heights.ts'
import type { EvidenceData, RegisteredOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { ChannelTermsData } from '@penstock/contracts/shapes.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { toCancelRequested } from './cancel.decide.ts'
import { isClaimable, lastHeightOfHold, mayDefer } from './heights.ts'
import { type Hold, type HoldRequest, submissionKey } from './hold.ts'
import { judgeLoss, startLossCheck } from '../payout/loss.decide.ts'
import { judgeEvidence, recordedPeerProof } from './verdict.ts'
import { withPeerProof } from './peer-proof.ts'
import { type CommandOf, type SettlementCommandData, isOwing, type Settlement, type SettlementDecision } from '../state.ts'
import { watchPayout } from '../payout/withholding.decide.ts'

/**
 * A Bitcoin node forgets the time at which a transaction arrived once a block has it. A seller could wait for that block, and sell
 * an older channel. A funding that confirms in these blocks may be older than the payment, so its age has to be known.
 */
const BLOCKS_OF_UNKNOWN_AGE = 2

/** Records the data that the later proof needs in this stream, before the submission is acknowledged. */
export function registerOutpoint(
  hold: Hold,
  {
    height,
    seesMempool,
    confirmedAtHeight,
    enteredMempoolAt,
    heldSince,
    ...submission
  }: SettlementCommandData<'RegisterOutpoint'>,
): SettlementDecision {
  const { window, fundingSeenBlocks, ...registered } = submission
  const { request, payment } = hold
  if (hold.registered?.outpoint === registered.outpoint) return registerKnownOutpoint(hold, registered)
  if (hold.registered && isStaleSubmission(registered, hold.registered)) return accept()
  if (hold.refusedSubmissions.includes(submissionKey(registered))) return accept()
  const refuseSubmission = (reason: string, tooLate = false): SettlementDecision =>
    accept({
      type: 'OutpointRegistrationRefused',
      v: 2,
      data: { attempt: registered.attempt, outpoint: registered.outpoint, reason, tooLate },
    })
  if (hold.status !== 'held' || !request || !payment)
    return refuseSubmission('No payment is waiting for this channel; do not publish its funding.')
  if (!isAsSold(registered.terms, request, payment))
    return refuseSubmission('The submitted channel is not the one that was sold; do not publish its funding.')
  // Checked here too, because an impossible outpoint would otherwise wait for its proof until the last height.
  const fault = validateFundingOutpoint(registered.outpoint)
  if (fault !== undefined) return refuseSubmission(`${fault}; do not publish it.`)
  if (height > lastBroadcastHeight(payment.expiryHeight, { ...request, confirmations: registered.terms.requiredConfirmations }))
    return refuseSubmission(
      'Too few blocks are left for the channel to confirm under this payment; do not publish its funding.',
      true,
    )
  if (window && height >= window.namedBefore)
    return refuseSubmission(
      `From height ${window.namedBefore} on, another transaction could not be seen in time; do not publish its funding.`,
    )
  // Only this check compares the exact height: a re-organisation may later move the transaction into a block as low as this.
  if (confirmedAtHeight !== null && confirmedAtHeight <= payment.heldAtHeight)
    return refuseSubmission(
      `The transaction is in block ${confirmedAtHeight}, and the payment was held at height ${payment.heldAtHeight}; open a channel for this order.`,
    )
  const heldAt = heldSince[request.paymentHash] ?? null
  if (enteredMempoolAt !== null && heldAt !== null && enteredMempoolAt < heldAt)
    return refuseSubmission('The transaction was in the mempool before the payment was held; open a channel for this order.')
  const isAgeUnknown = enteredMempoolAt === null || heldAt === null
  if (confirmedAtHeight !== null && isAgeUnknown && confirmedAtHeight <= payment.heldAtHeight + BLOCKS_OF_UNKNOWN_AGE)
    return refuseSubmission(
      `The transaction is in block ${confirmedAtHeight}, soon after the payment was held, and our node did not see it before; submit an outpoint before its funding is published.`,
    )
  if (BigInt(registered.sellerAmountMsat) > request.amountMsat - request.leastPlatformFeeMsat)
    return refuseSubmission('The buyer has not paid enough for this seller.')
  if (fundingSeenBlocks === undefined) return accept({ type: 'OutpointRegistered', v: 3, data: registered })
  const { fundingConfirmsWithinBlocks } = request
  const firstWindow = window ?? computeSubmissionWindow(height, { fundingSeenBlocks, fundingConfirmsWithinBlocks, seesMempool })
  return accept({ type: 'OutpointRegistered', v: 3, data: { ...registered, window: firstWindow } })
}

/** Compares a submission with the sold channel of the hold request; otherwise another channel could settle the payment. */
const isAsSold = (terms: ChannelTermsData, { sold }: HoldRequest, { heldAtHeight }: NonNullable<Hold['payment']>): boolean =>
  terms.heldAtHeight === heldAtHeight &&
  (sold === undefined ||
    (terms.buyerPubkey === sold.buyerPubkey &&
      terms.capacitySat === sold.capacitySat &&
      terms.isPrivate === sold.isPrivate &&
      terms.requiredConfirmations === sold.requiredConfirmations))

/**
 * Whether the order has since made a newer submission. An order of a version that does not number its submissions sends 0, which
 * never counts as stale.
 */
const isStaleSubmission = (
  { outpointNumber }: Pick<RegisteredOutpoint, 'outpointNumber'>,
  registered: RegisteredOutpoint,
): boolean => outpointNumber !== 0 && outpointNumber < registered.outpointNumber

/** Records only an attestation, or a higher number after the seller returned to the outpoint. All other data stays the same. */
function registerKnownOutpoint(
  { status, registered }: Hold,
  { attestation, outpointNumber }: RegisteredOutpoint,
): SettlementDecision {
  const isOpen = status === 'held' || status === 'settling' || status === 'settled'
  if (!registered || !isOpen || isStaleSubmission({ outpointNumber }, registered)) return accept()
  const hasNewAttestation = attestation !== null && JSON.stringify(attestation) !== JSON.stringify(registered.attestation)
  const isNewerSubmission = status === 'held' && outpointNumber > registered.outpointNumber
  if (!hasNewAttestation && !isNewerSubmission) return accept()
  const data = {
    ...registered,
    attestation: attestation ?? registered.attestation,
    outpointNumber: Math.max(outpointNumber, registered.outpointNumber),
  }
  return accept({ type: 'OutpointRegistered', v: 3, data })
}

/**
 * Records that the order requests the settlement; from now on only settlement's own evidence counts. The order sends the request
 * only for a recorded outpoint. So a request for another outpoint belongs to an earlier submission and is ignored.
 */
export const settleHold = (
  { status, registered, settlementWanted }: Hold,
  { outpoint }: SettlementCommandData<'SettleHold'>,
): SettlementDecision =>
  status === 'held' && registered?.outpoint === outpoint && settlementWanted?.outpoint !== outpoint
    ? accept({ type: 'SettlementWanted', v: 1, data: { outpoint } })
    : accept()

/** Requests one more proof at the deadline of the last height, in case the guard did not run. */
export const lastHeight = (hold: Hold, { height }: SettlementCommandData<'LastHeight'>): SettlementDecision =>
  hold.status === 'held' && height === lastHeightOfHold(hold) && !hold.lastHeightReached
    ? accept({ type: 'LastHeightReached', v: 1, data: { height } })
    : accept()

/** Decides by the evidence of a block. Evidence about another outpoint than the recorded outpoint is ignored. */
export function guard(state: Settlement, { data }: CommandOf<'Guard'>): SettlementDecision {
  const { hold } = state
  if ((hold.registered?.outpoint ?? null) !== data.outpoint) return accept()
  if (hold.status === 'settled' || isOwing(state)) {
    return data.evidence && isTelling(hold, data, data.evidence) ? watchPayout(state, data.evidence, data) : accept()
  }
  if (hold.status === 'cancelled')
    return data.evidence && isTelling(hold, data, data.evidence) ? judgeLoss(state, data.evidence, data) : accept()
  if (hold.status !== 'held') return accept()
  return withPeerProof(hold, data, decideHeld(hold, data))
}

/**
 * Whether the evidence says anything about a sold channel. A node or chain that is synced again lacks the funding although the
 * funding exists, so its evidence closes no payable and refutes no loss.
 */
const isTelling = ({ payment }: Hold, { nodeReady }: SettlementCommandData<'Guard'>, { tipHeight }: EvidenceData): boolean =>
  nodeReady && payment !== null && tipHeight >= payment.heldAtHeight

function decideHeld(hold: Hold, data: SettlementCommandData<'Guard'>): SettlementDecision {
  const isLast = data.height >= (lastHeightOfHold(hold) ?? Number.POSITIVE_INFINITY)
  const isSettlementWanted = hold.settlementWanted !== null && hold.settlementWanted.outpoint === data.outpoint
  if (!isLast && !isSettlementWanted) return accept()
  if (!hold.registered) return accept(cancelAtLastHeight('unnamed', 'No funding outpoint was submitted before the last height.'))
  const height = Math.max(data.height, data.evidence?.tipHeight ?? 0)
  const when = {
    height: data.height,
    isLast,
    isClaimable: isClaimable(hold, height),
    mayDefer: !data.nodeReady && mayDefer(hold, height),
    isNodeReady: data.nodeReady,
  }
  if (data.evidence) return decideByEvidence(hold, hold.registered, data.evidence, when)
  // A chain source without an answer may answer some blocks later.
  return isLast && !mayDefer(hold, height)
    ? accept(
        cancelAtLastHeight(null, 'The state of the chain could not be read before the last height.'),
        ...startLossCheck(hold, 'not-ready'),
      )
    : accept()
}

/** `mayDefer`: our node is not ready, and enough blocks are left to wait for its missing evidence. */
type DecisionContext = {
  readonly height: number
  readonly isLast: boolean
  readonly isClaimable: boolean
  readonly mayDefer: boolean
  readonly isNodeReady: boolean
}

function decideByEvidence(
  hold: Hold,
  { outpoint, terms }: RegisteredOutpoint,
  evidence: EvidenceData,
  when: DecisionContext,
): SettlementDecision {
  const { reachTries } = hold
  const { isLast } = when
  // A channel may exist although a node that is not ready does not show it.
  const notReadyLoss = when.isNodeReady ? [] : startLossCheck(hold, 'not-ready')
  const verdict = judgeEvidence(terms, evidence, { lastHeight: isLast, recorded: recordedPeerProof(hold) })
  const isChainOnly = verdict.verdict === 'valid' && verdict.peer === null
  // A reachable buyer can prove the channel. If its proof is missing, the seller may have opened the channel to itself.
  if (isChainOnly && reachTries?.reached)
    return when.mayDefer
      ? accept()
      : accept(
          cancelAtLastHeight('unproven', 'The buyer was reached, and only the chain had proven the channel.'),
          ...notReadyLoss,
        )
  // If our node is not ready, a failed attempt to reach the buyer proves nothing. A successful probe proves nothing either: it
  // may have used another channel between the two nodes that our node does not know yet.
  if (verdict.verdict === 'valid' && verdict.peer !== 'graph' && !when.isNodeReady)
    return when.mayDefer
      ? accept()
      : accept(
          cancelAtLastHeight(
            'unproven',
            `Our node was not ready, and only ${isChainOnly ? 'the chain' : 'a probe'} had proven the channel.`,
          ),
          ...notReadyLoss,
        )
  if (verdict.verdict === 'valid' && !when.isClaimable)
    return accept(
      cancelAtLastHeight(null, 'The channel was proven when too few blocks were left to settle the payment.'),
      ...startLossCheck(hold, 'not-ready'),
    )
  // The decision waits until our node has tried to reach the buyer at this height.
  if (isChainOnly && (reachTries === null || reachTries.height < when.height)) return accept()
  if (verdict.verdict === 'valid') {
    const { confirmations, peer, payoutWithheldUntil, hasUnconfirmedSpend } = verdict
    const withheld = payoutWithheldUntil !== 'none' || hasUnconfirmedSpend
    const proof = { outpoint, tipHeight: evidence.tipHeight, confirmations, peer, withheld }
    return accept({ type: 'SettlementStarted', v: 1, data: { proof, lastHeight: isLast } })
  }
  // Before the last height the order itself releases a wrong channel, with a reason for its timeline.
  if (!isLast) return accept()
  if (verdict.verdict === 'wrong' || verdict.verdict === 'spent')
    return accept(cancelAtLastHeight(verdict.verdict, verdict.sentence))
  if (when.mayDefer) return accept()
  return verdict.waitingFor === 'transaction' || verdict.waitingFor === 'confirmations'
    ? accept(
        cancelAtLastHeight('unconfirmed', 'The funding transaction had no confirmation at the last height.'),
        ...notReadyLoss,
      )
    : accept(cancelAtLastHeight('unproven', 'Only the chain had proven the channel at the last height.'), ...notReadyLoss)
}

/** @param verdict null: no evidence was available, and the order knows whether its funding was confirmed */
const cancelAtLastHeight = (
  verdict: 'wrong' | 'spent' | 'unconfirmed' | 'unproven' | 'unnamed' | null,
  sentence: string,
): SettlementFact => toCancelRequested({ reason: 'last-height', verdict, sentence })
