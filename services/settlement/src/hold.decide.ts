import type { NotedOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { must } from '@penstock/kernel/result.ts'
import { isClaimable, isReachTryNews, isTooHasty } from './heights.ts'
import type { Hold, HoldRequest } from './hold.ts'
import { settledPosting } from './ledger.ts'
import { SETTLE_MISSED } from './payout.ts'
import type { Data, SettlementDecision } from './state.ts'
import { causeOfProof } from './withholding.decide.ts'

export function issueHold(hold: Hold, data: Data<'IssueHold'>): SettlementDecision {
  if (hold.status !== 'NONE') return accept()
  const { node, keyId, paymentHash, synced, tipAgeSeconds, staleTipSeconds, inboundSat, holdExpiryDelta, ...terms } = data
  if (!synced || (staleTipSeconds > 0 && tipAgeSeconds > staleTipSeconds))
    return refused(
      'stale-tip',
      `Our node has not seen a block for ${tipAgeSeconds} s; no payment is taken until it has caught up.`,
    )
  if (inboundSat * 1000n < BigInt(terms.amountMsat))
    return refused(
      'no-inbound',
      `Our node can receive ${inboundSat} sat now, less than the price; try a smaller order, or later.`,
    )
  if (isTooHasty(holdExpiryDelta, terms.guardBlocks))
    return refused(
      'node-too-hasty',
      'No payment is taken: our node might give it back before its time; the operator has to look at it.',
    )
  return accept({ type: 'HoldRequested', v: 1, data: { ...terms, keyId, node, paymentHash } })
}

/** Attempt 0 is the look before the invoice: whom nobody reaches is not asked to pay. */
export function recordReach(hold: Hold, { attempt, reached, reason, height }: Data<'RecordReach'>): SettlementDecision {
  if (attempt === 0) return hold.status === 'requested' && !reached ? refused('unreachable', reason) : accept()
  if (hold.status !== 'held' || !hold.reach.pending || hold.reach.asked !== attempt) return accept()
  return accept({ type: 'ReachChecked', v: 1, data: { attempt, reached, reason, height } })
}

/** Each outcome before the decision is kept: that one replica has reached the buyer counts for all of them. */
export const recordReachTry = (hold: Hold, { height, reached, reason }: Data<'RecordReachTry'>): SettlementDecision =>
  isReachTryNews(hold, height, reached) ? accept({ type: 'BuyerReachTried', v: 1, data: { height, reached, reason } }) : accept()

/** A newer attempt takes the place of one that is still being looked at; nobody waits for the older any more. */
export function checkReach(hold: Hold, { attempt }: Data<'CheckReach'>): SettlementDecision {
  return hold.status === 'held' && attempt > hold.reach.asked ? accept({ type: 'ReachAsked', v: 1, data: { attempt } }) : accept()
}

/** An invoice that was made although the hold was given up meanwhile is noted, and the process cancels it. */
export function recordIssued(hold: Hold, { invoice, expiresAt }: Data<'RecordIssued'>): SettlementDecision {
  const awaited = hold.status === 'requested' || hold.status === 'cancelling' || hold.status === 'cancelled'
  if (!awaited || !hold.request || hold.invoice) return accept()
  const { paymentHash, keyId, node } = hold.request
  return accept({ type: 'HoldIssued', v: 1, data: { paymentHash, keyId, node, invoice, expiresAt } })
}

export function recordHeld(hold: Hold, { crowdedPeer, ...held }: Data<'RecordHeld'>): SettlementDecision {
  if (hold.payment || !hold.invoice) return accept()
  if (hold.status === 'open' && crowdedPeer !== null) {
    const sentence = `The payment came through ${crowdedPeer}, which has as many open payments with us as we allow; pay by another way.`
    return accept({ type: 'CancelRequested', v: 2, data: { reason: 'no-slot', verdict: null, sentence } })
  }
  // One that comes too late is noted, and given back like any other.
  const late = (hold.status === 'cancelling' || hold.status === 'cancelled') && hold.cancel?.reason !== 'no-slot'
  return hold.status === 'open' || late ? accept(heldFact(held)) : accept()
}

/** E, from which all heights of a hold are counted back: from the lowest of the HTLCs on, a payer may take a part back. */
export const heldFact = ({ htlcs, height, receivedMsat }: Omit<Data<'RecordHeld'>, 'crowdedPeer'>): SettlementFact => ({
  type: 'HoldHeld',
  v: 2,
  data: { htlcs, expiryHeight: Math.min(...htlcs.map(({ expiryHeight }) => expiryHeight)), heldAtHeight: height, receivedMsat },
})

export function recordSettled(hold: Hold, { settledAt, receivedMsat }: Data<'RecordSettled'>): SettlementDecision {
  if (hold.status !== 'settling') return accept()
  const { request, noted, proof } = hold
  must(request && noted && proof, 'a hold that is being settled has terms, an outpoint and a proof')
  if (BigInt(receivedMsat) < request.amountMsat)
    return refuse('NOT_ALL_SETTLED', 'The node does not show the whole amount as settled yet.')
  const sellerAmountMsat = BigInt(noted.sellerAmountMsat)
  return accept(
    { type: 'HoldSettled', v: 1, data: { settledAt, receivedMsat, confirmations: proof.confirmations } },
    settledPosting({ ...request, receivedMsat: BigInt(receivedMsat), sellerAmountMsat }),
    ...(proof.withheld ? [withheldFor(request, noted, proof)] : []),
  )
}

/** The node takes nothing any more of which it could not be sure; what it has taken before, it shows. */
export const recordSettleMissed = (hold: Hold, { height }: Data<'RecordSettleMissed'>): SettlementDecision => {
  if (hold.status !== 'settling' || hold.cancel || isClaimable(hold, height)) return accept()
  const sentence = `The payment could not be taken before height ${height}, when too few blocks were left for it.`
  return accept(
    { type: 'SettleMissed', v: 1, data: { height, sentence } },
    { type: 'IncidentNoted', v: 1, data: { what: SETTLE_MISSED, height } },
  )
}

function withheldFor(
  { withheldBlocks }: HoldRequest,
  { terms }: NotedOutpoint,
  { tipHeight, peer }: NonNullable<Hold['proof']>,
): SettlementFact {
  const { cause, reason } = causeOfProof({ peer, isPrivate: terms.isPrivate })
  return { type: 'PayoutWithheld', v: 2, data: { cause, reason, untilHeight: tipHeight + withheldBlocks } }
}

const refused = (code: 'stale-tip' | 'no-inbound' | 'unreachable' | 'node-too-hasty', reason: string): SettlementDecision =>
  accept({ type: 'HoldRefused', v: 1, data: { code, reason } })
