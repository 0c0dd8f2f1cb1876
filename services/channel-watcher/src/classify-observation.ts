import { parseEvidence } from '@penstock/channel-proof/parse-evidence.ts'
import { judgeChannel } from '@penstock/channel-proof/judge.ts'
import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { ChannelCommand, ChannelFact } from '@penstock/contracts/channel.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import type { WatchedChannel, LeasedChannel, ChainLocation, ChannelWatch } from './channel.ts'

/** The evidence of the chain and of our node about the watched outpoint, at one tip. */
export type Observation = Extract<ChannelCommand, { readonly type: 'Observe' }>['data']

/** A missing transaction is lost after this many blocks. Until then another node's mempool may still contain it. */
const VANISHED_AFTER_BLOCKS = 2
/** Confirmations at which a payout is due and a channel is announced. More are counted only if the order requires more. */
const MIN_COUNTED_CONFIRMATIONS = 6

type NextFact = ChannelFact | null

/** The next fact that brings the state towards the observation; null if they agree. */
export function classifyObservation(channel: WatchedChannel, observation: Observation): NextFact {
  switch (channel.status) {
    case 'WATCHING':
    case 'SEEN':
    case 'MISSING':
      return classifyFault(channel.watch, observation) ?? classifyUnconfirmed(channel, observation)
    case 'CONFIRMED':
    case 'REACHED':
      return (
        classifyPlacement(channel, observation) ??
        classifyFault(channel.watch, observation) ??
        classifyDepth(channel, observation) ??
        classifyRequiredDepth(channel, observation) ??
        classifyProof(channel, observation)
      )
    case 'LEASED':
      return classifyLease(channel, observation)
    default:
      return null
  }
}

function classifyUnconfirmed(
  channel: Extract<WatchedChannel, { status: 'WATCHING' | 'SEEN' | 'MISSING' }>,
  observation: Observation,
): NextFact {
  const { outpoint, evidence, seesMempool } = observation
  const { output, tipHeight } = evidence
  const { attempt, outpointNumber } = channel.watch
  const fundingLost = (failure: FundingFailure, what: string): ChannelFact => ({
    type: 'FundingLost',
    v: 2,
    data: { outpoint, failure, reason: `The funding transaction ${what}.`, tipHeight, outpointNumber },
  })
  if (channel.status !== 'SEEN') {
    if (output) return { type: 'FundingSeen', v: 3, data: { outpoint, atHeight: tipHeight, outpointNumber, attempt } }
    if (channel.status === 'WATCHING')
      return tipHeight >= channel.seenBefore ? fundingLost('never-seen', `was not seen by block ${channel.seenBefore}`) : null
    return tipHeight >= channel.goneBefore
      ? fundingLost('vanished', 'was seen and is gone: replaced, double-spent or dropped')
      : null
  }
  const location = findLocation(observation)
  if (location) return { type: 'FundingConfirmed', v: 2, data: { outpoint, ...location, outpointNumber } }
  // A funding that a block contained before has no confirmation deadline: the watch waits until the hold has ended.
  if (!channel.wasConfirmed && tipHeight >= channel.confirmedBefore)
    return fundingLost('unconfirmed', `was not confirmed by block ${channel.confirmedBefore}`)
  if (output || !seesMempool) return null
  return { type: 'FundingMissing', v: 2, data: { outpoint, tipHeight, goneBefore: tipHeight + VANISHED_AFTER_BLOCKS, attempt } }
}

type FundingFailure = Extract<ChannelFact, { readonly type: 'FundingLost' }>['data']['failure']

/** Compares the funding's place in the chain with the recorded place. A difference is a re-organisation, even at one height. */
function classifyPlacement(channel: Extract<WatchedChannel, { readonly location: unknown }>, observation: Observation): NextFact {
  const location = findLocation(observation)
  const { outpoint, evidence } = observation
  const { outpointNumber, fundingConfirmsWithinBlocks } = channel.watch
  if (!channel.location) return location && { type: 'FundingConfirmed', v: 2, data: { outpoint, ...location, outpointNumber } }
  if (location?.shortChannelId === channel.location.shortChannelId) return null
  const deadlineFromTip = evidence.tipHeight + fundingConfirmsWithinBlocks
  const confirmedBefore = Math.max(channel.confirmedBefore, deadlineFromTip)
  return { type: 'FundingReorged', v: 2, data: { outpoint, tipHeight: evidence.tipHeight, confirmedBefore, outpointNumber } }
}

function findLocation({ outpoint, evidence: { output } }: Observation): ChainLocation | null {
  const parsed = parseOutpoint(outpoint)
  if (!parsed || !output || output.height === null || output.txIndex === null) return null
  const { height, txIndex } = output
  return { height, shortChannelId: formatShortChannelId({ height, txIndex, vout: parsed.vout }) }
}

type ConfirmedChannel = Extract<WatchedChannel, { readonly confirmations: number }>

function classifyDepth(
  { confirmations, location, watch }: ConfirmedChannel,
  { outpoint, evidence: { tipHeight } }: Observation,
): NextFact {
  if (!location) return null
  // The output may be read one block after the tip. A confirmed output therefore counts as at least one confirmation.
  const counted = Math.min(Math.max(1, tipHeight - location.height + 1), maxCountedConfirmations(watch))
  return counted === confirmations
    ? null
    : { type: 'ConfirmationsSeen', v: 1, data: { outpoint, confirmations: counted, tipHeight } }
}

const maxCountedConfirmations = ({ terms }: ChannelWatch): number =>
  Math.max(terms.requiredConfirmations, MIN_COUNTED_CONFIRMATIONS)

/** A lease that waits only for its end. The watcher observes it less often, and may record the end a little late. */
export const isIdleLease = (channel: WatchedChannel): channel is LeasedChannel =>
  channel.status === 'LEASED' && channel.location !== null && channel.confirmations >= maxCountedConfirmations(channel.watch)

function classifyRequiredDepth(
  { status, confirmations, watch }: ConfirmedChannel,
  { outpoint, evidence: { tipHeight } }: Observation,
): NextFact {
  if (status !== 'CONFIRMED' || confirmations < watch.terms.requiredConfirmations) return null
  return {
    type: 'ConfirmationsReached',
    v: 2,
    data: { outpoint, confirmations, tipHeight, outpointNumber: watch.outpointNumber },
  }
}

/** Records only the peer proof, so one confirmation is enough (`lastHeight: true`). Settlement judges the channel itself. */
function classifyProof({ isProven, watch }: ConfirmedChannel, { outpoint, evidence }: Observation): NextFact {
  if (isProven) return null
  const verdict = judgeChannel(watch.terms, parseEvidence(evidence), { lastHeight: true })
  if (verdict.verdict !== 'valid' || !verdict.peer) return null
  return { type: 'ChannelProven', v: 1, data: { outpoint, peer: verdict.peer, tipHeight: evidence.tipHeight } }
}

function classifyFault({ terms, outpointNumber }: ChannelWatch, { outpoint, evidence }: Observation): NextFact {
  const verdict = judgeChannel(terms, parseEvidence(evidence), { lastHeight: false })
  if (verdict.verdict !== 'wrong' && verdict.verdict !== 'spent') return null
  const { sentence: reason } = verdict
  const code = verdict.verdict === 'spent' ? 'spent' : verdict.reason
  return { type: 'ChannelInvalid', v: 2, data: { outpoint, code, reason, tipHeight: evidence.tipHeight, outpointNumber } }
}

/** Compares the forwarding fees that the seller announces with its promise. A private channel announces none. */
function classifyFees(
  { isPromiseBroken, watch }: LeasedChannel,
  { outpoint, evidence: { graph, tipHeight } }: Observation,
): NextFact {
  const { attempt, feeCaps } = watch
  const fees = graph?.sellerFees
  if (isPromiseBroken || !feeCaps || !fees) return null
  const brokenFact = (what: 'base-fee' | 'fee-rate', reason: string): ChannelFact => ({
    type: 'PromiseBroken',
    v: 1,
    data: { attempt, outpoint, what, reason, tipHeight },
  })
  const { baseFeeCapSat, feeRateCapPpm } = feeCaps
  if (BigInt(fees.baseFeeMsat) > satToMsat(BigInt(baseFeeCapSat)))
    return brokenFact(
      'base-fee',
      `The seller takes a base fee of ${fees.baseFeeMsat} msat; at most ${baseFeeCapSat} sat were promised.`,
    )
  if (fees.feeRatePpm > feeRateCapPpm)
    return brokenFact(
      'fee-rate',
      `The seller takes ${fees.feeRatePpm} ppm for forwarding; at most ${feeRateCapPpm} ppm were promised.`,
    )
  return null
}

/** A lease ends with its last block, or early if its output is spent or gone. The chain does not show who closed the channel. */
function classifyLease(channel: LeasedChannel, observation: Observation): NextFact {
  const { output, tipHeight } = observation.evidence
  const leaseEnded = (early: boolean, spentBy: string | null): ChannelFact => ({
    type: 'LeaseEnded',
    v: 1,
    data: { outpoint: observation.outpoint, early, closedBy: early ? 'unknown' : null, spentBy, tipHeight },
  })
  const placementChange = classifyPlacement(channel, observation)
  if (placementChange) return placementChange
  if (!channel.location) return tipHeight >= channel.confirmedBefore ? leaseEnded(tipHeight < channel.endsAtHeight, null) : null
  const spend = output?.spentBy
  if (spend && spend.height !== null) return leaseEnded(spend.height < channel.endsAtHeight, spend.txid)
  const brokenFact = (channel.isWrong ? null : classifyFault(channel.watch, observation)) ?? classifyFees(channel, observation)
  const change = classifyDepth(channel, observation) ?? classifyProof(channel, observation) ?? brokenFact
  return change ?? (tipHeight >= channel.endsAtHeight ? leaseEnded(false, null) : null)
}
