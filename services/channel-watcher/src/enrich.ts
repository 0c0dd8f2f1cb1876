import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { Enricher } from '@penstock/runtime/service.ts'
import { OBSERVATION_TIMEOUT_MS, type WatcherPorts } from './effects.ts'

/** Adds the present height, from which windows and leases count. */
export const enrichWithHeight: Enricher<WatcherPorts> = async (_, { ports: { chain, clock } }) => ({
  height: (await withTimeout(clock, OBSERVATION_TIMEOUT_MS, chain.tip())).height,
})

/** Adds whether the source sees the mempool, because this decides how long a transaction may stay unseen. */
export const enrichWatchOutpoint: Enricher<WatcherPorts> = async (data, context) => ({
  ...(await enrichWithHeight(data, context)),
  seesMempool: context.ports.chain.sees.mempool,
})
