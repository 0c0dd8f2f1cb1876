/**
 * Counts the held HTLCs of each peer of our node. A channel carries a few hundred HTLCs, and one peer must not fill it.
 * The counts are in memory, and are built again from the streams at start.
 */
export type PeerSlots = {
  /** Counts a payment, unless a peer would exceed `maxPerPeer` (0: no limit). @returns that peer, or null if it was counted */
  take(orderId: string, peers: Peers, maxPerPeer: number): string | null
  /** Counts a payment that the stream has already accepted. */
  add(orderId: string, peers: Peers): void
  free(orderId: string): void
  /** Removes all orders except these. */
  retain(orderIds: ReadonlySet<string>): void
}

/** Null represents a peer that the node does not report; such HTLCs count towards no limit. */
type Peers = readonly (string | null)[]

export function newPeerSlots(): PeerSlots {
  const peersByOrder = new Map<string, Peers>()
  const countOf = (peer: string): number => [...peersByOrder.values()].flat().filter((other) => other === peer).length
  return {
    take(orderId, peers, maxPerPeer) {
      if (peersByOrder.has(orderId)) return null
      const crowded =
        maxPerPeer === 0
          ? undefined
          : peers.find((peer) => peer !== null && countOf(peer) + peers.filter((other) => other === peer).length > maxPerPeer)
      if (crowded) return crowded
      peersByOrder.set(orderId, peers)
      return null
    },
    add: (orderId, peers) => void peersByOrder.set(orderId, peers),
    free: (orderId) => void peersByOrder.delete(orderId),
    retain(orderIds) {
      for (const orderId of peersByOrder.keys()) if (!orderIds.has(orderId)) peersByOrder.delete(orderId)
    },
  }
}
