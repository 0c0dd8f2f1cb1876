import { within } from '@penstock/ports/within.ts'
import type { Enrich } from '@penstock/runtime/service.ts'
import { LOOK_TIMEOUT_MS, type WatcherPorts } from './effects.ts'

/** The height from which windows and leases count. */
export const atHeight: Enrich<WatcherPorts> = async (_, { ports: { chain, clock } }) => ({
  height: (await within(clock, LOOK_TIMEOUT_MS, chain.tip())).height,
})

/** With what the source could see at all, since that decides how long a transaction may stay unseen. */
export const forWatch: Enrich<WatcherPorts> = async (data, about) => ({
  ...(await atHeight(data, about)),
  seesMempool: about.ports.chain.sees.mempool,
})
