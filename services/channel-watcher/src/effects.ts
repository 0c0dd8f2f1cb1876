import type { ChannelCommand } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/channel-proof/gather-evidence.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { Effect } from '@penstock/runtime/service.ts'
import { type WatchedChannel, type ChannelWatch, watchOf } from './channel.ts'

/** Timeout of one observation of the chain and of our node. */
export const OBSERVATION_TIMEOUT_MS = 20_000

/** The ports by which the watcher reads the chain and our node. It never signs, pays or opens a channel. */
export type WatcherPorts = { readonly chain: Chain; readonly lightning: Lightning }

export const gatherWatchEvidence = (ports: EvidencePorts, watch: ChannelWatch, probe: boolean): Promise<EvidenceData> => {
  const { outpoint, terms, attestation, fromHeight } = watch
  return gatherEvidence(ports, { outpoint, terms, attestation, fromHeight, probe })
}

/** Searches the mempool. The runtime retries this effect with backoff until the transaction is seen. */
export const noticeFunding: Effect<
  WatchedChannel,
  Extract<ChannelCommand, { readonly type: 'NoticeFunding' }>,
  WatcherPorts
> = async (channel, { ports }) => {
  const watch = watchOf(channel)
  if (!watch || !ports.chain.sees.mempool) return null
  const evidence = await withTimeout(ports.clock, OBSERVATION_TIMEOUT_MS, gatherWatchEvidence(ports, watch, false))
  return evidence.output ? { type: 'NoticeFunding', data: { outpoint: watch.outpoint, evidence } } : null
}
