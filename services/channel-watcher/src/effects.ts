import type { ChannelCommand } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/ports/evidence.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import type { Effect } from '@penstock/runtime/service.ts'
import { type Channel, type Watch, watchOf } from './channel.ts'

/** For one look at the chain and at our node. */
export const LOOK_TIMEOUT_MS = 20_000

/** What the watcher sees the world with. It never signs, pays or opens anything. */
export type WatcherPorts = { readonly chain: Chain; readonly lightning: Lightning }

export const evidenceOf = (ports: EvidencePorts, watch: Watch, probe: boolean): Promise<EvidenceData> => {
  const { outpoint, terms, attestation, fromHeight } = watch
  return gatherEvidence(ports, { outpoint, terms, attestation, fromHeight, probe })
}

/** Looks into the mempool; the runtime asks again, ever more slowly, while the transaction is waited for. */
export const noticeFunding: Effect<Channel, ChannelCommand, WatcherPorts> = async (channel, { ports }) => {
  const watch = watchOf(channel)
  if (!watch || !ports.chain.sees.mempool) return null
  const evidence = await within(ports.clock, LOOK_TIMEOUT_MS, evidenceOf(ports, watch, false))
  return evidence.output ? { type: 'NoticeFunding', data: { outpoint: watch.outpoint, evidence } } : null
}
