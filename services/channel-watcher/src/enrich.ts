import type { Enrich } from '@penstock/runtime/service.ts'
import type { WatcherPorts } from './effects.ts'

/** The height from which windows and leases count. */
export const atHeight: Enrich<WatcherPorts> = async (_, { ports }) => ({ height: (await ports.chain.tip()).height })
