import type { Peers } from '@penstock/ports/lightning.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { MINUTE_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { LRUCache } from 'lru-cache'

/** A node's alias and addresses from gossip. */
export type GossipNode = { readonly alias: string | null; readonly sockets: readonly string[] }
export type NodeDirectory = (pubkey: string) => Promise<GossipNode>

const MAX_NODES = 5000
const CACHE_MS = MINUTE_MS
const LOOKUP_TIMEOUT_MS = SECOND_MS

const UNKNOWN_NODE: GossipNode = { alias: null, sockets: [] }

/**
 * Looks up the alias and addresses of a node at most once per minute. An unknown node or a failure gives empty fields.
 */
export function openNodeDirectory(peers: Pick<Peers, 'addresses'>, clock: Clock): NodeDirectory {
  const cache = new LRUCache<string, { readonly node: Promise<GossipNode>; readonly untilMs: number }>({ max: MAX_NODES })

  const lookUp = async (pubkey: string): Promise<GossipNode> => {
    try {
      const { alias, sockets } = await withTimeout(clock, LOOKUP_TIMEOUT_MS, peers.addresses(pubkey))
      return { alias: alias === '' ? null : alias, sockets }
    } catch {
      return UNKNOWN_NODE // the node did not answer; callers within the minute do not wait for it again
    }
  }

  return (pubkey) => {
    const nowMs = clock.monotonicMs()
    const cached = cache.get(pubkey)
    if (cached && cached.untilMs > nowMs) return cached.node
    const node = lookUp(pubkey)
    cache.set(pubkey, { node, untilMs: nowMs + CACHE_MS })
    return node
  }
}
