import type { RegtestNode } from '@penstock/cluster/regtest/node-role.ts'
import { subscribeToGraph } from 'lightning'

type ChannelUpdate = { readonly id: string }

/** Records when the market's node first reported each announced channel, by short channel id. @returns a stop function */
export function watchAnnouncements({ lnd: { lnd } }: RegtestNode, announcedAt: Map<string, number>): () => void {
  const stream = subscribeToGraph({ lnd })
  stream.on('channel_updated', ({ id }: ChannelUpdate) => {
    if (!announcedAt.has(id)) announcedAt.set(id, Date.now())
  })
  // An ended subscription records no time. `computeShares` then counts no announcement time for the other nodes.
  stream.on('error', () => undefined)
  return () => stream.removeAllListeners('channel_updated')
}
