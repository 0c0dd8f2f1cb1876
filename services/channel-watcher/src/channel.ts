import type { SoldChannelTerms } from '@penstock/channel-proof/judge.ts'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { AttestationData, FeeCaps } from '@penstock/contracts/shapes.ts'
import { Bug, assert } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { channelMachine } from './channel.machine.ts'

/** The watched outpoint and the terms that its channel must meet. */
export type ChannelWatch = {
  readonly attempt: number
  readonly outpoint: string
  readonly terms: SoldChannelTerms
  readonly attestation: AttestationData | null
  /** The number of the order's submission that began the watch; 0 from a version that did not count submissions. */
  readonly outpointNumber: number
  readonly fromHeight: number
  readonly fundingConfirmsWithinBlocks: number
  readonly leaseBlocks: number
  /** The fee caps that the seller promised for the lease; null if the order did not send them. */
  readonly feeCaps: FeeCaps | null
}

/** The block and the short channel id of a confirmed funding transaction. */
export type ChainLocation = { readonly height: number; readonly shortChannelId: string }

/** How many confirmations a channel has, and whether its peers are proven. */
export type ConfirmationProgress = { readonly confirmations: number; readonly isProven: boolean }

/** The height at which an unconfirmed funding counts as lost. */
type ConfirmationDeadline = { readonly confirmedBefore: number }

/** `wasConfirmed`: a block contained the funding before a re-organisation, so `confirmedBefore` no longer applies. */
type UnconfirmedFunding = ConfirmationDeadline & { readonly wasConfirmed: boolean }

export type LeasedChannel = {
  readonly status: 'LEASED'
  readonly watch: ChannelWatch
  readonly location: ChainLocation | null
} & ConfirmationProgress &
  ConfirmationDeadline & { readonly endsAtHeight: number; readonly isWrong: boolean; readonly isPromiseBroken: boolean }

export type WatchedChannel =
  | { readonly status: 'NONE' }
  | ({ readonly status: 'WATCHING'; readonly watch: ChannelWatch; readonly seenBefore: number } & ConfirmationDeadline)
  | ({ readonly status: 'SEEN'; readonly watch: ChannelWatch } & UnconfirmedFunding)
  | ({ readonly status: 'MISSING'; readonly watch: ChannelWatch; readonly goneBefore: number } & UnconfirmedFunding)
  | ({
      readonly status: 'CONFIRMED' | 'REACHED'
      readonly watch: ChannelWatch
      readonly location: ChainLocation
    } & ConfirmationProgress &
      ConfirmationDeadline)
  | LeasedChannel
  | { readonly status: 'LOST' | 'WRONG' | 'ENDED'; readonly watch: ChannelWatch }
  | { readonly status: 'STOPPED'; readonly watch: ChannelWatch | null }

const lifecycle = compileLifecycle<WatchedChannel['status'], ChannelFact['type']>(channelMachine)

/** @returns the watch of the stream, also after its end; null before the first outpoint */
export const watchOf = (channel: WatchedChannel): ChannelWatch | null => (channel.status === 'NONE' ? null : channel.watch)

export function evolve(channel: WatchedChannel, fact: ChannelFact): WatchedChannel {
  const status = lifecycle.after(channel.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${channel.status}`)
  const { type, data } = fact
  switch (type) {
    case 'WatchStarted':
      return beginWatch(data)
    case 'WatchStopped':
      return { status: 'STOPPED', watch: watchOf(channel) }
    case 'LeaseStarted':
      return beginLease(channel, data)
    case 'FundingSeen':
      return { status: 'SEEN', watch: requireWatch(channel), ...unconfirmedFundingOf(channel) }
    case 'FundingLost':
      return { status: 'LOST', watch: requireWatch(channel) }
    case 'LeaseEnded':
      return { status: 'ENDED', watch: requireWatch(channel) }
    default:
      return channel.status === 'LEASED' ? evolveLease(channel, fact) : evolveBeforeLease(channel, fact)
  }
}

type FactData<Type extends ChannelFact['type']> = Extract<ChannelFact, { readonly type: Type }>['data']

const beginWatch = ({ seenBefore, confirmedBefore, terms, feeCaps, ...watch }: FactData<'WatchStarted'>): WatchedChannel => ({
  status: 'WATCHING',
  watch: { ...watch, terms: { ...terms, capacitySat: BigInt(terms.capacitySat) }, attestation: null, feeCaps: feeCaps ?? null },
  seenBefore,
  confirmedBefore,
})

function beginLease(channel: WatchedChannel, { atHeight, endsAtHeight }: FactData<'LeaseStarted'>): LeasedChannel {
  const watch = requireWatch(channel)
  const progress = 'location' in channel ? channel : { location: null, confirmations: 0, isProven: false }
  const { location, confirmations, isProven } = progress
  const confirmedBefore = atHeight + watch.fundingConfirmsWithinBlocks
  return {
    status: 'LEASED',
    watch,
    location,
    confirmations,
    isProven,
    confirmedBefore,
    endsAtHeight,
    isWrong: channel.status === 'WRONG',
    isPromiseBroken: false,
  }
}

function evolveBeforeLease(channel: WatchedChannel, { type, data }: ChannelFact): WatchedChannel {
  const watch = requireWatch(channel)
  switch (type) {
    case 'AttestationKept':
      return { ...channel, watch: { ...watch, attestation: data.attestation } } as WatchedChannel // the same status with another watch
    case 'ChannelInvalid':
      return { status: 'WRONG', watch }
    case 'FundingMissing':
      return { status: 'MISSING', watch, goneBefore: data.goneBefore, ...unconfirmedFundingOf(channel) }
    case 'FundingReorged':
      return { status: 'SEEN', watch, confirmedBefore: data.confirmedBefore, wasConfirmed: true }
    case 'FundingConfirmed':
      return {
        status: 'CONFIRMED',
        watch,
        location: locationOf(data),
        confirmations: 1,
        isProven: false,
        confirmedBefore: requireConfirmedBefore(channel),
      }
    case 'ConfirmationsSeen':
      return { ...requireConfirmed(channel), confirmations: data.confirmations }
    case 'ConfirmationsReached':
      return { ...requireConfirmed(channel), status: 'REACHED' }
    case 'ChannelProven':
      return { ...requireConfirmed(channel), isProven: true }
    default:
      throw new Bug(`${type} cannot follow ${channel.status}`)
  }
}

function evolveLease(channel: LeasedChannel, { type, data }: ChannelFact): LeasedChannel {
  switch (type) {
    case 'AttestationKept':
      return { ...channel, watch: { ...channel.watch, attestation: data.attestation } }
    case 'FundingConfirmed':
      return { ...channel, location: locationOf(data), confirmations: 1 }
    case 'FundingReorged':
      return { ...channel, location: null, confirmations: 0, isProven: false, confirmedBefore: data.confirmedBefore }
    case 'ConfirmationsSeen':
      return { ...channel, confirmations: data.confirmations }
    case 'ChannelProven':
      return { ...channel, isProven: true }
    case 'ChannelInvalid':
      return { ...channel, isWrong: true }
    case 'PromiseBroken':
      return { ...channel, isPromiseBroken: true }
    default:
      throw new Bug(`${type} cannot follow ${channel.status}`)
  }
}

const locationOf = ({ height, shortChannelId }: FactData<'FundingConfirmed'>): ChainLocation => ({ height, shortChannelId })

function requireWatch(channel: WatchedChannel): ChannelWatch {
  const watch = watchOf(channel)
  assert(watch, `${channel.status} watches nothing`)
  return watch
}

function requireConfirmed(channel: WatchedChannel) {
  assert(channel.status === 'CONFIRMED' || channel.status === 'REACHED', `${channel.status} has no confirmation`)
  return channel
}

function requireConfirmedBefore(channel: WatchedChannel): number {
  assert('confirmedBefore' in channel, `${channel.status} waits for no confirmation`)
  return channel.confirmedBefore
}

const unconfirmedFundingOf = (channel: WatchedChannel): UnconfirmedFunding => ({
  confirmedBefore: requireConfirmedBefore(channel),
  wasConfirmed: 'wasConfirmed' in channel && channel.wasConfirmed,
})
