import type { RegisteredOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { assert } from '@penstock/kernel/result.ts'
import { isClaimable, isNewReachTry, isHoldExpiryDeltaTooLarge } from './heights.ts'
import type { Hold, HoldRequest } from './hold.ts'
import { settledPosting } from '../payout/ledger.ts'
import { SETTLE_MISSED_INCIDENT } from '../payout/payout.ts'
import type { SettlementCommandData, SettlementDecision } from '../state.ts'
import { causeOfProof } from '../payout/withholding.decide.ts'

export function issueHold(hold: Hold, data: SettlementCommandData<'IssueHold'>): SettlementDecision {
  if (hold.status !== 'NONE') return accept()
  const {
    // Earlier versions send the time until which the invoice is awaited.
    invoiceBefore,
    node,
    keyId,
    paymentHash,
    synced,
    tipAgeSeconds,
    staleTipSeconds,
    inboundSat,
    holdExpiryDelta,
    ...terms
  } = data
  if (!synced || (staleTipSeconds > 0 && tipAgeSeconds > staleTipSeconds))
    return refuseHold(
      'stale-tip',
      `Our node has not seen a block for ${tipAgeSeconds} s; it accepts no payment until it is in sync.`,
    )
  if (inboundSat * 1000n < BigInt(terms.amountMsat))
    return refuseHold(
      'no-inbound',
      `Our node can receive ${inboundSat} sat now, less than the price; try a smaller order, or later.`,
    )
  if (isHoldExpiryDeltaTooLarge(holdExpiryDelta, terms.guardBlocks))
    return refuseHold('node-too-hasty', "Temporarily unavailable: the operator's node is misconfigured (hold-expiry delta).")
  return accept({ type: 'HoldRequested', v: 2, data: { ...terms, keyId, node, paymentHash } })
}

/** Attempt 0 is the check before the invoice: a buyer whose node cannot be reached gets no invoice. */
export function recordReach(
  hold: Hold,
  { attempt, reached, reason, height }: SettlementCommandData<'RecordReach'>,
): SettlementDecision {
  if (attempt === 0) return hold.status === 'requested' && !reached ? refuseHold('unreachable', reason) : accept()
  if (hold.status !== 'held' || !hold.reach.pending || hold.reach.asked !== attempt) return accept()
  return accept({ type: 'BuyerReachChecked', v: 1, data: { attempt, reached, reason, height } })
}

/** Records each outcome before the decision. If one replica has reached the buyer, this counts for all replicas. */
export const recordReachTry = (
  hold: Hold,
  { height, reached, reason }: SettlementCommandData<'RecordReachTry'>,
): SettlementDecision =>
  isNewReachTry(hold, height, reached) ? accept({ type: 'BuyerReachTried', v: 1, data: { height, reached, reason } }) : accept()

/** A newer check replaces a running check, because the order no longer waits for the older check. */
export function checkReach(hold: Hold, { attempt }: SettlementCommandData<'CheckReach'>): SettlementDecision {
  return hold.status === 'held' && attempt > hold.reach.asked
    ? accept({ type: 'BuyerReachRequested', v: 1, data: { attempt } })
    : accept()
}

/** Records an invoice even if the hold was cancelled while the node created it; the process then cancels the invoice. */
export function recordIssued(hold: Hold, { invoice, expiresAt }: SettlementCommandData<'RecordIssued'>): SettlementDecision {
  const isAwaited = hold.status === 'requested' || hold.status === 'cancelling' || hold.status === 'cancelled'
  if (!isAwaited || !hold.request || hold.invoice) return accept()
  const { paymentHash, keyId, node } = hold.request
  return accept({ type: 'HoldIssued', v: 1, data: { paymentHash, keyId, node, invoice, expiresAt } })
}

export function recordHeld(hold: Hold, { crowdedPeer, ...held }: SettlementCommandData<'RecordHeld'>): SettlementDecision {
  if (hold.payment || !hold.invoice) return accept()
  if (hold.status === 'open' && crowdedPeer !== null) {
    const sentence = `The payment arrived through ${crowdedPeer}, which has too many open payments; pay through another peer.`
    return accept({ type: 'CancelRequested', v: 2, data: { reason: 'no-slot', verdict: null, sentence } })
  }
  // A payment that arrives too late is recorded, and cancelled like any other.
  const isLate = (hold.status === 'cancelling' || hold.status === 'cancelled') && hold.cancel?.reason !== 'no-slot'
  return hold.status === 'open' || isLate ? accept(toHoldHeld(held)) : accept()
}

/** Sets E to the lowest expiry height of the HTLCs, because from that height on the payer may take a part back. */
export const toHoldHeld = ({
  htlcs,
  height,
  receivedMsat,
}: Omit<SettlementCommandData<'RecordHeld'>, 'crowdedPeer'>): SettlementFact => ({
  type: 'HoldHeld',
  v: 2,
  data: { htlcs, expiryHeight: Math.min(...htlcs.map(({ expiryHeight }) => expiryHeight)), heldAtHeight: height, receivedMsat },
})

export function recordSettled(
  hold: Hold,
  { settledAt, receivedMsat }: SettlementCommandData<'RecordSettled'>,
): SettlementDecision {
  if (hold.status !== 'settling') return accept()
  const { request, registered, proof } = hold
  assert(request && registered && proof, 'a hold that is being settled has terms, an outpoint and a proof')
  if (BigInt(receivedMsat) < request.amountMsat)
    return refuse('NOT_ALL_SETTLED', 'The node does not show the whole amount as settled yet.')
  const sellerAmountMsat = BigInt(registered.sellerAmountMsat)
  return accept(
    { type: 'HoldSettled', v: 1, data: { settledAt, receivedMsat, confirmations: proof.confirmations } },
    settledPosting({ ...request, receivedMsat: BigInt(receivedMsat), sellerAmountMsat }),
    ...(proof.withheld ? [toPayoutWithheld(request, registered, proof)] : []),
  )
}

/** Records that too few blocks are left to settle. A payment that the node settled before is recorded as settled. */
export const recordSettlementMissed = (
  hold: Hold,
  { height }: SettlementCommandData<'RecordSettlementMissed'>,
): SettlementDecision => {
  if (hold.status !== 'settling' || hold.cancel || isClaimable(hold, height)) return accept()
  const sentence = `The payment could not be settled before height ${height}, where too few blocks were left.`
  return accept(
    { type: 'SettlementMissed', v: 1, data: { height, sentence } },
    { type: 'IncidentRecorded', v: 1, data: { what: SETTLE_MISSED_INCIDENT, height } },
  )
}

function toPayoutWithheld(
  { withheldBlocks }: HoldRequest,
  { terms }: RegisteredOutpoint,
  { tipHeight, peer }: NonNullable<Hold['proof']>,
): SettlementFact {
  const { cause, reason } = causeOfProof({ peer, isPrivate: terms.isPrivate })
  return { type: 'PayoutWithheld', v: 2, data: { cause, reason, untilHeight: tipHeight + withheldBlocks } }
}

const refuseHold = (
  code: 'withdrawn' | 'stale-tip' | 'no-inbound' | 'unreachable' | 'node-too-hasty',
  reason: string,
): SettlementDecision => accept({ type: 'HoldRefused', v: 1, data: { code, reason } })
