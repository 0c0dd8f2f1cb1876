import { REORG_BLOCKS } from '@penstock/bitcoin/channel-proof.ts'
import { seenBlocksOf } from '@penstock/bitcoin/naming-window.ts'
import type { ChannelCommand, ChannelFact } from '@penstock/contracts/channel.ts'
import type { Attestation } from '@penstock/contracts/shapes.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import { must } from '@penstock/kernel/result.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import { type Channel, evolve, type Watch, watchOf } from './channel.ts'
import { type Look, nextFact } from './look.ts'

/** The height of the chain when the command is decided. */
type AtHeight = { readonly height: number }
export type ChannelDecided = Enriched<
  ChannelCommand,
  { WatchOutpoint: AtHeight & { readonly seesMempool: boolean }; StartLease: AtHeight }
>
type Data<Type extends ChannelDecided['type']> = Extract<ChannelDecided, { readonly type: Type }>['data']
type Decided = Decision<ChannelFact, Refusal>

// A look changes a status a few times at most; more would be a circle.
const MOST_FACTS = 20

/** Every command comes from an order or from the watcher itself, so none is ever refused. What comes too late adds nothing. */
function decide(channel: Channel, { type, data }: ChannelDecided): Decided {
  switch (type) {
    case 'WatchOutpoint':
      return watchOutpoint(channel, data)
    case 'KeepAttestation':
      return keepAttestation(channel, data)
    case 'Observe':
      return observe(channel, data)
    case 'NoticeFunding':
      // It may have been looked at before the last block, so it never speaks of what was seen since.
      return channel.status === 'WATCHING' || channel.status === 'MISSING'
        ? observe(channel, { ...data, seesMempool: true })
        : accept()
    case 'StartLease':
      return startLease(channel, data)
    case 'StopWatch':
      // The order waits for this fact, so a watch that has ended by itself gives it too.
      return channel.status === 'STOPPED' || channel.status === 'ENDED' ? accept() : accept({ type: 'WatchStopped', v: 1, data })
    case 'Recheck':
      return accept()
  }
}

/** The order says which outpoint counts; once its lease began or it let go, there is nothing more to say. */
function watchOutpoint(channel: Channel, data: Data<'WatchOutpoint'>): Decided {
  const { height, seesMempool, attestation, fundingSeenBlocks, seenBefore, ...named } = data
  const { status } = channel
  if (status === 'LEASED' || status === 'ENDED' || status === 'STOPPED' || isKnown(watchOf(channel), named)) return accept()
  const started: ChannelFact = {
    type: 'WatchStarted',
    v: 2,
    data: {
      ...named,
      fromHeight: Math.max(0, Math.min(named.terms.heldAtHeight, height) - REORG_BLOCKS),
      seenBefore: seenBefore ?? ownWindow(channel, named.attempt, height + seenBlocksOf(fundingSeenBlocks, seesMempool)),
      confirmedBefore: height + named.fundingConfirmsWithinBlocks,
    },
  }
  if (!attestation) return accept(started)
  const { outpoint, naming } = named
  return accept<ChannelFact>(started, { type: 'AttestationKept', v: 2, data: { outpoint, attestation, naming } })
}

/** Where the order does not tell it: from the first naming of the attempt that this watch knows of. */
const ownWindow = (channel: Channel, attempt: number, end: number): number =>
  channel.status === 'WATCHING' && channel.watch.attempt === attempt ? Math.min(channel.seenBefore, end) : end

/** It is watched already, or came late: the order has named another since. Who does not count is believed. */
const isKnown = (watch: Watch | null, { outpoint, naming }: Pick<Watch, 'outpoint' | 'naming'>): boolean =>
  watch !== null && (watch.outpoint === outpoint ? naming <= watch.naming : naming !== 0 && naming < watch.naming)

/** Of another naming it is late, or before its watch: then the order hears of none, and gives it again. */
function keepAttestation(channel: Channel, { outpoint, attestation, naming }: Data<'KeepAttestation'>): Decided {
  const watch = watchOf(channel)
  if (channel.status === 'ENDED' || watch?.outpoint !== outpoint) return accept()
  // A lease keeps the number of its watch, and is of the order's last naming.
  if (naming !== 0 && naming !== watch.naming && channel.status !== 'LEASED') return accept()
  if (watch.attestation && isSameAttestation(watch.attestation, attestation)) return accept()
  return accept({ type: 'AttestationKept', v: 2, data: { outpoint, attestation, naming: Math.max(naming, watch.naming) } })
}

/** Both were read by the same schema, which puts their fields into one order. */
const isSameAttestation = (one: Attestation, other: Attestation): boolean => JSON.stringify(one) === JSON.stringify(other)

/** One look may add several facts; each is decided on the state after the one before, until the look says nothing new. */
function observe(channel: Channel, look: Look): Decided {
  if (watchOf(channel)?.outpoint !== look.outpoint) return accept()
  const facts: ChannelFact[] = []
  for (let state = channel; ;) {
    const fact = nextFact(state, look)
    if (!fact) return accept(...facts)
    facts.push(fact)
    must(facts.length <= MOST_FACTS, `a look at ${look.outpoint} comes to no end`)
    state = evolve(state, fact)
  }
}

/** Counted from the block that confirmed the channel, or from now where the watch has not seen it yet. */
function startLease(channel: Channel, { outpoint, height }: Data<'StartLease'>): Decided {
  const watch = watchOf(channel)
  if (channel.status === 'LEASED' || channel.status === 'ENDED' || watch?.outpoint !== outpoint) return accept()
  const begun = 'place' in channel && channel.place ? channel.place.height : height
  return accept({ type: 'LeaseStarted', v: 1, data: { outpoint, atHeight: height, endsAtHeight: begun + watch.leaseBlocks } })
}

export const channelDecider: Decider<Channel, ChannelDecided, ChannelFact> = { initial: { status: 'NONE' }, evolve, decide }
