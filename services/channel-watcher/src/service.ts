import { channelContract, outpointClaimContract } from '@penstock/contracts/channel.ts'
import { defineAggregate, defineEffect, defineService } from '@penstock/runtime/service.ts'
import { channelDecider } from './channel.decide.ts'
import { channelProcess } from './channel.process.ts'
import { type WatchedChannel, watchOf } from './channel.ts'
import { type OutpointClaim, outpointClaimDecider } from './claim.ts'
import { noticeFunding, type WatcherPorts } from './effects.ts'
import { followChain } from './effects/follow-chain.ts'
import { enrichWithHeight, enrichWatchOutpoint } from './enrich.ts'

/** Sees funding transactions, proves channels, and watches their leases; one outpoint serves one order. */
export const channelWatcherService = defineService<WatcherPorts>('channel-watcher', {
  aggregates: [
    defineAggregate({
      contract: channelContract,
      decider: channelDecider,
      process: channelProcess,
      effects: {
        noticeFunding: defineEffect({
          calls: ['chain.tip', 'chain.output', 'lightning.graph.channel', 'lightning.messages.recover'],
          outcomes: ['NoticeFunding'],
          act: noticeFunding,
        }),
      },
      follows: {
        WatchStarted: ['Recheck', 'noticeFunding'],
        FundingSeen: ['Recheck'],
        FundingMissing: ['Recheck', 'noticeFunding'],
        FundingConfirmed: ['Recheck'],
        ConfirmationsReached: ['Recheck'],
        FundingReorged: ['Recheck'],
        LeaseStarted: ['Recheck'],
      },
      enrich: { WatchOutpoint: enrichWatchOutpoint, StartLease: enrichWithHeight },
      hashed: {
        version: 3,
        projections: { 1: withoutOutpointNumber, 2: withoutWasConfirmed, 3: (state: WatchedChannel) => state },
      },
    }),
    defineAggregate({
      contract: outpointClaimContract,
      decider: outpointClaimDecider,
      hashed: { version: 1, projections: { 1: (state: OutpointClaim) => state } },
      correlation: (id, { owner }) => owner?.orderId ?? id,
    }),
  ],
  jobs: [followChain],
})

/** The part of the state that version 1 of the state hash covers: without submission numbers. */
function withoutOutpointNumber(state: WatchedChannel): unknown {
  const watch = watchOf(state)
  return watch ? { ...withoutWasConfirmed(state), watch: { ...watch, outpointNumber: undefined } } : state
}

/** The part of the state that version 2 of the state hash covers: without `wasConfirmed`. */
function withoutWasConfirmed(state: WatchedChannel): object {
  return 'wasConfirmed' in state ? { ...state, wasConfirmed: undefined } : state
}
