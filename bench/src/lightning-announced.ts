import type { Person } from '@penstock/cluster/regtest/person.ts'
import { subscribeToGraph } from 'lightning'

type Told = { readonly id: string }

/** Notes when the market's own node first told of each channel that others announced, by where it stands in the chain. */
export function watchGraph({ node: { lnd } }: Person, announcedAt: Map<string, number>): () => void {
  const stream = subscribeToGraph({ lnd })
  stream.on('channel_updated', ({ id }: Told) => {
    if (!announcedAt.has(id)) announcedAt.set(id, Date.now())
  })
  // Of what is not told here, nobody else is said to have had the time.
  stream.on('error', () => undefined)
  return () => stream.removeAllListeners('channel_updated')
}
