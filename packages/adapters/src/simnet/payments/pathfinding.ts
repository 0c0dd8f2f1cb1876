import { readHeight } from '../chain.ts'
import {
  type SimChannelRow,
  FORWARDING_CLTV_DELTA,
  isChannelActive,
  isInGraphOf,
  OPEN_CHANNELS_OF_SQL,
  otherEndOf,
  sendableMsat,
} from '../channels/channels.ts'
import type { SimnetStore } from '../store.ts'

export type Hop = {
  readonly channel: SimChannelRow
  readonly sender: string
  readonly receiver: string
  readonly amountMsat: bigint
  readonly expiryHeight: number
}

/** Maximum number of hops of a route, and of channels that are tried for one node. */
const MAX_HOPS = 6
const MAX_BRANCHES = 64

type PartialRoute = { readonly node: string; readonly amountMsat: bigint; readonly hops: readonly Omit<Hop, 'expiryHeight'>[] }

/**
 * Finds the route with the fewest hops on which every node has enough balance. The search starts at the payee, because only the
 * amount there is known: each earlier node adds its forwarding fee.
 * @param finalExpiry the expiry height of the last HTLC
 */
export function findRoute(
  store: SimnetStore,
  payer: string,
  payee: string,
  amountMsat: bigint,
  finalExpiry: number,
): Hop[] | undefined {
  const height = readHeight(store)
  const visited = new Set([payee])
  let frontier: PartialRoute[] = [{ node: payee, amountMsat, hops: [] }]
  for (let length = 0; length < MAX_HOPS && frontier.length > 0; length++) {
    const next: PartialRoute[] = []
    for (const step of frontier) {
      for (const channel of findChannelsInto(store, step.node, payer, step.amountMsat)) {
        const sender = otherEndOf(channel, step.node)
        const isOwn = sender === payer
        if (visited.has(sender) || sendableMsat(channel, sender) < step.amountMsat || !isChannelActive(channel)) continue
        if (!isInGraphOf(payer, channel, height)) continue
        const hops = [{ channel, sender, receiver: step.node, amountMsat: step.amountMsat }, ...step.hops]
        if (isOwn)
          return hops.map((hop, index) => ({
            ...hop,
            expiryHeight: finalExpiry + FORWARDING_CLTV_DELTA * (hops.length - 1 - index),
          }))
        visited.add(sender)
        next.push({ node: sender, amountMsat: step.amountMsat + computeForwardingFee(channel, sender, step.amountMsat), hops })
      }
    }
    frontier = next
  }
  return undefined
}

/** Channels through which a node can receive the amount: first the payer's own, then the channels with the highest balance. */
function findChannelsInto(store: SimnetStore, node: string, payer: string, amountMsat: bigint): SimChannelRow[] {
  return store.all<SimChannelRow>(
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

const computeForwardingFee = (channel: SimChannelRow, sender: string, amountMsat: bigint): bigint => {
  const [base, ppm] = sender === channel.a ? [channel.a_base_msat, channel.a_ppm] : [channel.b_base_msat, channel.b_ppm]
  return base + (amountMsat * ppm) / 1_000_000n
}

/** @returns the msat that the node can send through all active channels in its graph together */
export function sumSpendableMsat(store: SimnetStore, pubkey: string): bigint {
  const height = readHeight(store)
  return store
    .all<SimChannelRow>(`SELECT * FROM channel_view WHERE ${OPEN_CHANNELS_OF_SQL} AND state = 'published'`, pubkey)
    .filter((channel) => isChannelActive(channel) && isInGraphOf(pubkey, channel, height))
    .reduce((sum, channel) => sum + sendableMsat(channel, pubkey), 0n)
}
