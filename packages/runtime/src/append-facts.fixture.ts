import { contractOf } from '@penstock/contracts/contracts.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { CHAIN_START, sealFacts } from './commands/event-codec.ts'

export const ORDER = '00000000-0000-4000-8000-000000000001'
export const claimContract = contractOf('payhash')
export type World = Awaited<ReturnType<typeof createMemoryPlatform>>

/** Appends facts to the stream `payhash-x`, each by a command of its own. @returns the stored facts */
export async function appendFacts(world: World, count: number): Promise<readonly StoredEvent[]> {
  let chain = CHAIN_START
  for (let n = 0; n < count; n++) {
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
    const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
    const sealed = sealFacts({ stream: 'payhash-x', revision: n, chain }, [{ id: `e${n}`, fact, meta }])
    chain = sealed.chain
    await world.store.append('payhash-x', n === 0 ? 'none' : n - 1, sealed.events)
  }
  return world.store.read('payhash-x')
}
