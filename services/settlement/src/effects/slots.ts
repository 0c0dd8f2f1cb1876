/**
 * How many HTLCs are held through each of our node's peers: a channel carries a few hundred at most, and one peer must
 * not fill it. Kept in memory by the one watch that records payments, and made again from the streams at its start.
 */
export type Slots = {
  /** Counts a payment, unless one of its peers has `most` already (0: as many as come). @returns that peer, or null once it is counted */
  take(orderId: string, peers: Peers, most: number): string | null
  /** Counts what the stream has accepted already. */
  keep(orderId: string, peers: Peers): void
  free(orderId: string): void
  /** Forgets all orders but these. */
  retain(orderIds: ReadonlySet<string>): void
}

/** Null stands for a peer that the node does not name; such parts count towards no limit. */
type Peers = readonly (string | null)[]

export function slots(): Slots {
  const taken = new Map<string, Peers>()
  const countOf = (peer: string): number => [...taken.values()].flat().filter((other) => other === peer).length
  return {
    take(orderId, peers, most) {
      if (taken.has(orderId)) return null
      const crowded =
        most === 0
          ? undefined
          : peers.find((peer) => peer !== null && countOf(peer) + peers.filter((other) => other === peer).length > most)
      if (crowded) return crowded
      taken.set(orderId, peers)
      return null
    },
    keep: (orderId, peers) => void taken.set(orderId, peers),
    free: (orderId) => void taken.delete(orderId),
    retain(orderIds) {
      for (const orderId of taken.keys()) if (!orderIds.has(orderId)) taken.delete(orderId)
    },
  }
}
