import { channel, outpointClaim } from '@penstock/contracts/channel.ts'
import { aggregate, service } from '@penstock/runtime/service.ts'
import { channelDecider } from './channel.decide.ts'
import { channelProcess } from './channel.process.ts'
import { type Channel, watchOf } from './channel.ts'
import { type OutpointClaim, outpointClaimDecider } from './claim.ts'
import { noticeFunding, type WatcherPorts } from './effects.ts'
import { followChain } from './effects-follow.ts'
import { atHeight, forWatch } from './enrich.ts'

/** Sees funding transactions, proves channels, and watches their leases; one outpoint serves one order. */
export const channelWatcher = service<WatcherPorts>('channel-watcher', {
  aggregates: [
    aggregate({
      contract: channel,
      decider: channelDecider,
      process: channelProcess,
      effects: { noticeFunding },
      enrich: { WatchOutpoint: forWatch, StartLease: atHeight },
      hashed: { version: 3, of: { 1: withoutNaming, 2: withoutPast, 3: (state: Channel) => state } },
    }),
    aggregate({
      contract: outpointClaim,
      decider: outpointClaimDecider,
      hashed: { version: 1, of: { 1: (state: OutpointClaim) => state } },
      correlation: (id, { owner }) => owner?.orderId ?? id,
    }),
  ],
  jobs: [followChain],
})

/** As it was hashed before namings were counted. */
function withoutNaming(state: Channel): unknown {
  const watch = watchOf(state)
  return watch ? { ...withoutPast(state), watch: { ...watch, naming: undefined } } : state
}

/** As it was hashed before it was kept whether a funding had been in a block. */
function withoutPast(state: Channel): object {
  return 'wasConfirmed' in state ? { ...state, wasConfirmed: undefined } : state
}
