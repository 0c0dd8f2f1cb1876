import { judge } from '@penstock/bitcoin/channel-proof.ts'
import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { ChannelCommand, ChannelFact } from '@penstock/contracts/channel.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import type { Channel, Leased, Place, Watch } from './channel.ts'
import { toEvidence } from './evidence.ts'

/** What the chain and our node show of the watched outpoint at a tip. */
export type Look = Extract<ChannelCommand, { readonly type: 'Observe' }>['data']

/** Blocks after which a transaction that was seen and is gone counts as lost: nodes hear of transactions at different times. */
const GONE_BLOCKS = 2
/** Depth from which a payout is due and a channel is announced: deeper confirmations tell nobody anything. */
const DEEP_ENOUGH = 6

type Next = ChannelFact | null

/** The one next fact that makes the state agree with what is seen; null where it does. */
export function nextFact(channel: Channel, look: Look): Next {
  switch (channel.status) {
    case 'WATCHING':
    case 'SEEN':
    case 'MISSING':
      return wrong(channel.watch, look) ?? beforeConfirmation(channel, look)
    case 'CONFIRMED':
    case 'REACHED':
      return (
        placement(channel, look) ??
        wrong(channel.watch, look) ??
        depth(channel, look) ??
        reached(channel, look) ??
        proven(channel, look)
      )
    case 'LEASED':
      return leased(channel, look)
    default:
      return null
  }
}

function beforeConfirmation(channel: Extract<Channel, { status: 'WATCHING' | 'SEEN' | 'MISSING' }>, look: Look): Next {
  const { outpoint, evidence, seesMempool } = look
  const { output, tipHeight } = evidence
  const { naming } = channel.watch
  const lost = (failure: Failure, what: string): ChannelFact => ({
    type: 'FundingLost',
    v: 2,
    data: { outpoint, failure, reason: `The funding transaction ${what}.`, tipHeight, naming },
  })
  if (channel.status !== 'SEEN') {
    if (output) return { type: 'FundingSeen', v: 2, data: { outpoint, atHeight: tipHeight, naming } }
    if (channel.status === 'WATCHING')
      return tipHeight >= channel.seenBefore ? lost('never-seen', `was not seen by block ${channel.seenBefore}`) : null
    return tipHeight >= channel.goneBefore ? lost('vanished', 'was seen and is gone: replaced, double-spent or dropped') : null
  }
  const place = placeIn(look)
  if (place) return { type: 'FundingConfirmed', v: 2, data: { outpoint, ...place, naming } }
  // The payment's last height ends the wait for one that a block had before.
  if (!channel.wasConfirmed && tipHeight >= channel.confirmedBefore)
    return lost('unconfirmed', `was not confirmed by block ${channel.confirmedBefore}`)
  if (output || !seesMempool) return null
  return { type: 'FundingMissing', v: 1, data: { outpoint, tipHeight, goneBefore: tipHeight + GONE_BLOCKS } }
}

type Failure = Extract<ChannelFact, { readonly type: 'FundingLost' }>['data']['failure']

/** Whether it is still where it was. Another place is a re-organisation too, even at the same height. */
function placement(channel: Extract<Channel, { readonly place: unknown }>, look: Look): Next {
  const place = placeIn(look)
  const { outpoint, evidence } = look
  const { naming, fundingConfirmsWithinBlocks } = channel.watch
  if (!channel.place) return place && { type: 'FundingConfirmed', v: 2, data: { outpoint, ...place, naming } }
  if (place?.shortChannelId === channel.place.shortChannelId) return null
  const again = evidence.tipHeight + fundingConfirmsWithinBlocks
  const confirmedBefore = Math.max(channel.confirmedBefore, again)
  return { type: 'FundingReorged', v: 2, data: { outpoint, tipHeight: evidence.tipHeight, confirmedBefore, naming } }
}

function placeIn({ outpoint, evidence: { output } }: Look): Place | null {
  const parsed = parseOutpoint(outpoint)
  if (!parsed || !output || output.height === null || output.txIndex === null) return null
  const { height, txIndex } = output
  return { height, shortChannelId: formatShortChannelId({ height, txIndex, vout: parsed.vout }) }
}

type Confirmed = Extract<Channel, { readonly confirmations: number }>

function depth({ confirmations, place, watch }: Confirmed, { outpoint, evidence: { tipHeight } }: Look): Next {
  if (!place) return null
  // The output may have been read a block later than the tip; it has one confirmation at least.
  const seen = Math.min(Math.max(1, tipHeight - place.height + 1), mostConfirmations(watch))
  return seen === confirmations ? null : { type: 'ConfirmationsSeen', v: 1, data: { outpoint, confirmations: seen, tipHeight } }
}

const mostConfirmations = ({ terms }: Watch): number => Math.max(terms.requiredConfirmations, DEEP_ENOUGH)

/** A lease that goes its way: nothing but the channel's end is waited for, and that can be found out a little later. */
export const isAtRest = (channel: Channel): channel is Leased =>
  channel.status === 'LEASED' && channel.place !== null && channel.confirmations >= mostConfirmations(channel.watch)

function reached({ status, confirmations, watch }: Confirmed, { outpoint, evidence: { tipHeight } }: Look): Next {
  if (status !== 'CONFIRMED' || confirmations < watch.terms.requiredConfirmations) return null
  return { type: 'ConfirmationsReached', v: 2, data: { outpoint, confirmations, tipHeight, naming: watch.naming } }
}

/** The peer proof alone is asked for here, so one confirmation is enough; whether the money may move is settlement's to judge. */
function proven({ isProven, watch }: Confirmed, { outpoint, evidence }: Look): Next {
  if (isProven) return null
  const verdict = judge(watch.terms, toEvidence(evidence), { lastHeight: true })
  if (verdict.verdict !== 'valid' || !verdict.peer) return null
  return { type: 'ChannelProven', v: 1, data: { outpoint, peer: verdict.peer, tipHeight: evidence.tipHeight } }
}

function wrong({ terms, naming }: Watch, { outpoint, evidence }: Look): Next {
  const verdict = judge(terms, toEvidence(evidence), { lastHeight: false })
  if (verdict.verdict !== 'wrong' && verdict.verdict !== 'spent') return null
  const { sentence: reason } = verdict
  const code = verdict.verdict === 'spent' ? 'spent' : verdict.reason
  return { type: 'ChannelWrong', v: 2, data: { outpoint, code, reason, tipHeight: evidence.tipHeight, naming } }
}

/** What the seller takes for forwarding through the channel, as it announces it; a private channel announces nothing. */
function promiseBroken({ isPromiseBroken, watch }: Leased, { outpoint, evidence: { graph, tipHeight } }: Look): Next {
  const { attempt, feeCaps } = watch
  const fees = graph?.sellerFees
  if (isPromiseBroken || !feeCaps || !fees) return null
  const broken = (what: 'base-fee' | 'fee-rate', reason: string): ChannelFact => ({
    type: 'PromiseBroken',
    v: 1,
    data: { attempt, outpoint, what, reason, tipHeight },
  })
  const { baseFeeCapSat, feeRateCapPpm } = feeCaps
  if (BigInt(fees.baseFeeMsat) > satToMsat(BigInt(baseFeeCapSat)))
    return broken(
      'base-fee',
      `The seller takes a base fee of ${fees.baseFeeMsat} msat; at most ${baseFeeCapSat} sat were promised.`,
    )
  if (fees.feeRatePpm > feeRateCapPpm)
    return broken(
      'fee-rate',
      `The seller takes ${fees.feeRatePpm} ppm for forwarding; at most ${feeRateCapPpm} ppm were promised.`,
    )
  return null
}

/** A lease ends with its last block or with the output's end. Nobody but the two nodes knows who closed. */
function leased(channel: Leased, look: Look): Next {
  const { output, tipHeight } = look.evidence
  const ended = (early: boolean, spentBy: string | null): ChannelFact => ({
    type: 'LeaseEnded',
    v: 1,
    data: { outpoint: look.outpoint, early, closedBy: early ? 'unknown' : null, spentBy, tipHeight },
  })
  const moved = placement(channel, look)
  if (moved) return moved
  if (!channel.place) return tipHeight >= channel.confirmedBefore ? ended(tipHeight < channel.endsAtHeight, null) : null
  const spend = output?.spentBy
  if (spend && spend.height !== null) return ended(spend.height < channel.endsAtHeight, spend.txid)
  const broken = (channel.isWrong ? null : wrong(channel.watch, look)) ?? promiseBroken(channel, look)
  const more = depth(channel, look) ?? proven(channel, look) ?? broken
  return more ?? (tipHeight >= channel.endsAtHeight ? ended(false, null) : null)
}
