import { REORG_BLOCKS } from '@penstock/channel-proof/judge.ts'
import { seenBlocksOf } from '@penstock/bitcoin/submission-window.ts'
import type { ChannelCommand, ChannelFact } from '@penstock/contracts/channel.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { type WatchedChannel, evolve, type ChannelWatch, watchOf } from './channel.ts'
import { type Observation, classifyObservation } from './classify-observation.ts'

/** The height of the chain when the command is decided. */
type AtHeight = { readonly height: number }
export type EnrichedChannelCommand = EnrichedCommand<
  ChannelCommand,
  { WatchOutpoint: AtHeight & { readonly seesMempool: boolean }; StartLease: AtHeight }
>
type CommandData<Type extends EnrichedChannelCommand['type']> = Extract<EnrichedChannelCommand, { readonly type: Type }>['data']
type ChannelDecision = Decision<ChannelFact, Refusal>

// An observation changes the status a few times at most; more facts would mean an endless loop.
const MAX_FACTS = 20

/**
 * Every command comes from an order or from the watcher itself. A late command adds no fact. Only a lease or an
 * attestation that comes before its watch is refused, because the order repeats a refused command.
 */
function decide(channel: WatchedChannel, { type, data }: EnrichedChannelCommand): ChannelDecision {
  switch (type) {
    case 'WatchOutpoint':
      return watchOutpoint(channel, data)
    case 'KeepAttestation':
      return keepAttestation(channel, data)
    case 'Observe':
      return observe(channel, data)
    case 'NoticeFunding':
      // This observation may be older than the last block, so it counts only while the funding is unseen or missing.
      return channel.status === 'WATCHING' || channel.status === 'MISSING'
        ? observe(channel, { ...data, seesMempool: true })
        : accept()
    case 'StartLease':
      return startLease(channel, data)
    case 'StopWatch':
      // A stopped watch accepts no later outpoint, so a watch that is LOST or WRONG is stopped too.
      return channel.status === 'STOPPED' || channel.status === 'ENDED' ? accept() : accept({ type: 'WatchStopped', v: 1, data })
    case 'Recheck':
      return accept()
  }
}

/** Starts a watch of the accepted outpoint. Adds no fact if a lease has begun or the order has stopped the watch. */
function watchOutpoint(channel: WatchedChannel, data: CommandData<'WatchOutpoint'>): ChannelDecision {
  const { height, seesMempool, attestation, fundingSeenBlocks, seenBefore, ...request } = data
  const { status } = channel
  if (status === 'LEASED' || status === 'ENDED' || status === 'STOPPED' || isKnown(watchOf(channel), request)) return accept()
  const started: ChannelFact = {
    type: 'WatchStarted',
    v: 2,
    data: {
      ...request,
      fromHeight: Math.max(0, Math.min(request.terms.heldAtHeight, height) - REORG_BLOCKS),
      seenBefore: seenBefore ?? chooseSeenBefore(channel, request.attempt, height + seenBlocksOf(fundingSeenBlocks, seesMempool)),
      confirmedBefore: height + request.fundingConfirmsWithinBlocks,
    },
  }
  if (!attestation) return accept(started)
  const { outpoint, outpointNumber } = request
  return accept<ChannelFact>(started, { type: 'AttestationKept', v: 2, data: { outpoint, attestation, outpointNumber } })
}

/** The deadline if the order sends none. A new outpoint of the same attempt does not extend the deadline of an unseen funding. */
const chooseSeenBefore = (channel: WatchedChannel, attempt: number, end: number): number =>
  channel.status === 'WATCHING' && channel.watch.attempt === attempt ? Math.min(channel.seenBefore, end) : end

/**
 * Whether the watch already covers this submission or a later submission. A version that did not count submissions sends
 * `outpointNumber` 0. Such a submission is new if its outpoint differs from the watched outpoint.
 */
const isKnown = (
  watch: ChannelWatch | null,
  { outpoint, outpointNumber }: Pick<ChannelWatch, 'outpoint' | 'outpointNumber'>,
): boolean =>
  watch !== null &&
  (watch.outpoint === outpoint
    ? outpointNumber <= watch.outpointNumber
    : outpointNumber !== 0 && outpointNumber < watch.outpointNumber)

/** Keeps an attestation for the watched submission. For another submission it is refused, and the order sends it again. */
function keepAttestation(
  channel: WatchedChannel,
  { outpoint, attestation, outpointNumber }: CommandData<'KeepAttestation'>,
): ChannelDecision {
  const watch = watchOf(channel)
  if (channel.status === 'ENDED') return accept()
  if (watch?.outpoint !== outpoint) return refuseUnwatched(outpoint)
  // A lease accepts any submission number, because its watch may have an earlier number than the order's last submission.
  if (outpointNumber !== 0 && outpointNumber !== watch.outpointNumber && channel.status !== 'LEASED')
    return refuseUnwatched(outpoint)
  if (watch.attestation && isSameAttestation(watch.attestation, attestation)) return accept()
  return accept({
    type: 'AttestationKept',
    v: 2,
    data: { outpoint, attestation, outpointNumber: Math.max(outpointNumber, watch.outpointNumber) },
  })
}

const refuseUnwatched = (outpoint: string) => refuse('NOT_WATCHED', `This submission of the outpoint ${outpoint} is not watched`)

/** Compares JSON texts, because one schema parsed both attestations and so fixed the order of their fields. */
const isSameAttestation = (one: AttestationData, other: AttestationData): boolean => JSON.stringify(one) === JSON.stringify(other)

/** One observation may add several facts. Each fact is decided on the state after the previous fact. */
function observe(channel: WatchedChannel, observation: Observation): ChannelDecision {
  if (watchOf(channel)?.outpoint !== observation.outpoint) return accept()
  const facts: ChannelFact[] = []
  for (let state = channel; ;) {
    const fact = classifyObservation(state, observation)
    if (!fact) return accept(...facts)
    facts.push(fact)
    assert(facts.length <= MAX_FACTS, `the observation of ${observation.outpoint} adds facts without end`)
    state = evolve(state, fact)
  }
}

/** The lease counts from the block that confirmed the channel, or from the current height if the watch has seen none. */
function startLease(channel: WatchedChannel, { outpoint, height }: CommandData<'StartLease'>): ChannelDecision {
  const watch = watchOf(channel)
  if (channel.status === 'LEASED' || channel.status === 'ENDED') return accept()
  if (watch?.outpoint !== outpoint) return refuseUnwatched(outpoint)
  const startHeight = 'location' in channel && channel.location ? channel.location.height : height
  return accept({
    type: 'LeaseStarted',
    v: 1,
    data: { outpoint, atHeight: height, endsAtHeight: startHeight + watch.leaseBlocks },
  })
}

export const channelDecider: Decider<WatchedChannel, EnrichedChannelCommand, ChannelFact> = {
  initial: { status: 'NONE' },
  evolve,
  decide,
}
