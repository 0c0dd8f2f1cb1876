import { heightOf } from './chain.ts'
import { type Channel, HOP_DELTA, isActive, knows, OPEN_OF, otherEnd, sendableMsat } from './channels.ts'
import type { Net } from './store.ts'

export type Hop = {
  readonly channel: Channel
  readonly sender: string
  readonly receiver: string
  readonly amountMsat: bigint
  readonly expiryHeight: number
}

/** Longest way that is looked at, and how many channels of one node. */
const MAX_HOPS = 6
const MAX_BRANCHES = 64

type Step = { readonly node: string; readonly amountMsat: bigint; readonly hops: readonly Omit<Hop, 'expiryHeight'>[] }

/**
 * The way with the fewest hops on which every node has the balance. It is searched from the payee, since only there
 * the amount is known: each node before adds what it asks for forwarding.
 * @param finalExpiry the height at which the last HTLC ends
 */
export function findRoute(net: Net, payer: string, payee: string, amountMsat: bigint, finalExpiry: number): Hop[] | undefined {
  const height = heightOf(net)
  const seen = new Set([payee])
  let edge: Step[] = [{ node: payee, amountMsat, hops: [] }]
  for (let length = 0; length < MAX_HOPS && edge.length > 0; length++) {
    const next: Step[] = []
    for (const step of edge) {
      for (const channel of channelsInto(net, step.node, payer, step.amountMsat)) {
        const sender = otherEnd(channel, step.node)
        const isOwn = sender === payer
        if (seen.has(sender) || sendableMsat(channel, sender) < step.amountMsat || !isActive(channel)) continue
        if (!knows(payer, channel, height)) continue
        const hops = [{ channel, sender, receiver: step.node, amountMsat: step.amountMsat }, ...step.hops]
        if (isOwn)
          return hops.map((hop, index) => ({ ...hop, expiryHeight: finalExpiry + HOP_DELTA * (hops.length - 1 - index) }))
        seen.add(sender)
        next.push({ node: sender, amountMsat: step.amountMsat + forwardingFee(channel, sender, step.amountMsat), hops })
      }
    }
    edge = next
  }
  return undefined
}

/** Channels through which a node can be paid so much: the payer's own first, then those with the most room. */
function channelsInto(net: Net, node: string, payer: string, amountMsat: bigint): Channel[] {
  return net.all<Channel>(
    `SELECT * FROM channel_view v JOIN (
       SELECT outpoint, b = ?2 AS own, b_msat AS room FROM channels WHERE a = ?1 AND b_msat >= ?3 AND closed_height IS NULL AND state = 'published'
       UNION ALL
       SELECT outpoint, a = ?2 AS own, a_msat AS room FROM channels WHERE b = ?1 AND a_msat >= ?3 AND closed_height IS NULL AND state = 'published'
       ORDER BY own DESC, room DESC LIMIT ${MAX_BRANCHES}
     ) USING (outpoint) ORDER BY own DESC, room DESC`,
    node,
    payer,
    amountMsat,
  )
}

const forwardingFee = (channel: Channel, sender: string, amountMsat: bigint): bigint => {
  const [base, ppm] = sender === channel.a ? [channel.a_base_msat, channel.a_ppm] : [channel.b_base_msat, channel.b_ppm]
  return base + (amountMsat * ppm) / 1_000_000n
}

/** @returns msat that the node can send through all its active channels together, as far as its graph has them */
export function spendableMsat(net: Net, pubkey: string): bigint {
  const height = heightOf(net)
  return net
    .all<Channel>(`SELECT * FROM channel_view WHERE ${OPEN_OF} AND state = 'published'`, pubkey)
    .filter((channel) => isActive(channel) && knows(pubkey, channel, height))
    .reduce((sum, channel) => sum + sendableMsat(channel, pubkey), 0n)
}
