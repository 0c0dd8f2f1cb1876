import type { Peers } from '@penstock/ports/lightning.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { within } from '@penstock/ports/within.ts'
import { MINUTE_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { lru } from '@penstock/runtime/lru.ts'

/** What gossip knows of a node. */
export type KnownNode = { readonly alias: string | null; readonly sockets: readonly string[] }
export type NodeBook = (pubkey: string) => Promise<KnownNode>

const MOST_NODES = 5000
const GOOD_FOR_MS = MINUTE_MS
const PATIENCE_MS = SECOND_MS

const nothing: KnownNode = { alias: null, sockets: [] }

/** Names and addresses of nodes, asked for once a minute. They adorn an answer: where nobody knows, or nobody answers, it goes without. */
export function openNodeBook(peers: Pick<Peers, 'addresses'>, clock: Clock): NodeBook {
  const known = lru<string, { readonly node: Promise<KnownNode>; readonly untilMs: number }>(MOST_NODES)

  const ask = async (pubkey: string): Promise<KnownNode> => {
    try {
      const { alias, sockets } = await within(clock, PATIENCE_MS, peers.addresses(pubkey))
      return { alias: alias === '' ? null : alias, sockets }
    } catch {
      return nothing // the node is away; whoever asks within the minute need not wait for it again
    }
  }

  return (pubkey) => {
    const nowMs = clock.monotonicMs()
    const before = known.get(pubkey)
    if (before && before.untilMs > nowMs) return before.node
    const node = ask(pubkey)
    known.set(pubkey, { node, untilMs: nowMs + GOOD_FOR_MS })
    return node
  }
}
