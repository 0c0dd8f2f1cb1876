import type { ChannelTerms } from '@penstock/bitcoin/channel-proof.ts'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { Attestation, FeeCaps } from '@penstock/contracts/shapes.ts'
import { Bug, must } from '@penstock/kernel/result.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { channelMachine } from './channel.machine.ts'

/** What is watched, and against which terms. */
export type Watch = {
  readonly attempt: number
  readonly outpoint: string
  readonly terms: ChannelTerms
  readonly attestation: Attestation | null
  /** Which naming of the order began it. */
  readonly naming: number
  readonly fromHeight: number
  readonly fundingConfirmsWithinBlocks: number
  readonly leaseBlocks: number
  /** What the seller promised for the lease, where the order told it. */
  readonly feeCaps: FeeCaps | null
}

/** Where the funding transaction is in the chain. */
export type Place = { readonly height: number; readonly shortChannelId: string }

/** What is known of a channel in the chain. */
export type InChain = { readonly confirmations: number; readonly isProven: boolean }

/** The height at which an unconfirmed funding is given up. */
type Unconfirmed = { readonly confirmedBefore: number }

/** Whether a block had it once: what was confirmed in time stays in time, wherever a re-organisation puts it. */
type Unplaced = Unconfirmed & { readonly wasConfirmed: boolean }

export type Leased = { readonly status: 'LEASED'; readonly watch: Watch; readonly place: Place | null } & InChain &
  Unconfirmed & { readonly endsAtHeight: number; readonly isWrong: boolean; readonly isPromiseBroken: boolean }

export type Channel =
  | { readonly status: 'NONE' }
  | ({ readonly status: 'WATCHING'; readonly watch: Watch; readonly seenBefore: number } & Unconfirmed)
  | ({ readonly status: 'SEEN'; readonly watch: Watch } & Unplaced)
  | ({ readonly status: 'MISSING'; readonly watch: Watch; readonly goneBefore: number } & Unplaced)
  | ({ readonly status: 'CONFIRMED' | 'REACHED'; readonly watch: Watch; readonly place: Place } & InChain & Unconfirmed)
  | Leased
  | { readonly status: 'LOST' | 'WRONG' | 'ENDED'; readonly watch: Watch }
  | { readonly status: 'STOPPED'; readonly watch: Watch | null }

const lifecycle = compile<Channel['status'], ChannelFact['type']>(channelMachine)

/** @returns what the stream watches, also after its end; null where nothing was named yet */
export const watchOf = (channel: Channel): Watch | null => (channel.status === 'NONE' ? null : channel.watch)

export function evolve(channel: Channel, fact: ChannelFact): Channel {
  const status = lifecycle.after(channel.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${channel.status}`)
  const { type, data } = fact
  switch (type) {
    case 'WatchStarted':
      return begin(data)
    case 'WatchStopped':
      return { status: 'STOPPED', watch: watchOf(channel) }
    case 'LeaseStarted':
      return lease(channel, data)
    case 'FundingSeen':
      return { status: 'SEEN', watch: watched(channel), ...unplaced(channel) }
    case 'FundingLost':
      return { status: 'LOST', watch: watched(channel) }
    case 'LeaseEnded':
      return { status: 'ENDED', watch: watched(channel) }
    default:
      return channel.status === 'LEASED' ? duringLease(channel, fact) : beforeLease(channel, fact)
  }
}

type Data<Type extends ChannelFact['type']> = Extract<ChannelFact, { readonly type: Type }>['data']

const begin = ({ seenBefore, confirmedBefore, terms, feeCaps, ...watch }: Data<'WatchStarted'>): Channel => ({
  status: 'WATCHING',
  watch: { ...watch, terms: { ...terms, capacitySat: BigInt(terms.capacitySat) }, attestation: null, feeCaps: feeCaps ?? null },
  seenBefore,
  confirmedBefore,
})

function lease(channel: Channel, { atHeight, endsAtHeight }: Data<'LeaseStarted'>): Leased {
  const watch = watched(channel)
  const inChain = 'place' in channel ? channel : { place: null, confirmations: 0, isProven: false }
  const { place, confirmations, isProven } = inChain
  const confirmedBefore = atHeight + watch.fundingConfirmsWithinBlocks
  return {
    status: 'LEASED',
    watch,
    place,
    confirmations,
    isProven,
    confirmedBefore,
    endsAtHeight,
    isWrong: channel.status === 'WRONG',
    isPromiseBroken: false,
  }
}

function beforeLease(channel: Channel, { type, data }: ChannelFact): Channel {
  const watch = watched(channel)
  switch (type) {
    case 'AttestationKept':
      return { ...channel, watch: { ...watch, attestation: data.attestation } } as Channel // the same status with another watch
    case 'ChannelWrong':
      return { status: 'WRONG', watch }
    case 'FundingMissing':
      return { status: 'MISSING', watch, goneBefore: data.goneBefore, ...unplaced(channel) }
    case 'FundingReorged':
      return { status: 'SEEN', watch, confirmedBefore: data.confirmedBefore, wasConfirmed: true }
    case 'FundingConfirmed':
      return {
        status: 'CONFIRMED',
        watch,
        place: placeOf(data),
        confirmations: 1,
        isProven: false,
        confirmedBefore: confirmedBefore(channel),
      }
    case 'ConfirmationsSeen':
      return { ...confirmed(channel), confirmations: data.confirmations }
    case 'ConfirmationsReached':
      return { ...confirmed(channel), status: 'REACHED' }
    case 'ChannelProven':
      return { ...confirmed(channel), isProven: true }
    default:
      throw new Bug(`${type} cannot follow ${channel.status}`)
  }
}

function duringLease(channel: Leased, { type, data }: ChannelFact): Leased {
  switch (type) {
    case 'AttestationKept':
      return { ...channel, watch: { ...channel.watch, attestation: data.attestation } }
    case 'FundingConfirmed':
      return { ...channel, place: placeOf(data), confirmations: 1 }
    case 'FundingReorged':
      return { ...channel, place: null, confirmations: 0, isProven: false, confirmedBefore: data.confirmedBefore }
    case 'ConfirmationsSeen':
      return { ...channel, confirmations: data.confirmations }
    case 'ChannelProven':
      return { ...channel, isProven: true }
    case 'ChannelWrong':
      return { ...channel, isWrong: true }
    case 'PromiseBroken':
      return { ...channel, isPromiseBroken: true }
    default:
      throw new Bug(`${type} cannot follow ${channel.status}`)
  }
}

const placeOf = ({ height, shortChannelId }: Data<'FundingConfirmed'>): Place => ({ height, shortChannelId })

function watched(channel: Channel): Watch {
  const watch = watchOf(channel)
  must(watch, `${channel.status} watches nothing`)
  return watch
}

function confirmed(channel: Channel) {
  must(channel.status === 'CONFIRMED' || channel.status === 'REACHED', `${channel.status} has no confirmation`)
  return channel
}

function confirmedBefore(channel: Channel): number {
  must('confirmedBefore' in channel, `${channel.status} waits for no confirmation`)
  return channel.confirmedBefore
}

const unplaced = (channel: Channel): Unplaced => ({
  confirmedBefore: confirmedBefore(channel),
  wasConfirmed: 'wasConfirmed' in channel && channel.wasConfirmed,
})
