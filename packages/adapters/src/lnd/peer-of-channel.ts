import { getChannels, getClosedChannels } from 'lightning'
import type { Connection } from './connection.ts'

/** Whose channel with us a short channel id names; '' where we never had it. */
export type PeerOf = (shortChannelId: string) => Promise<string>

/** A channel never changes its peer, so each is asked for once. */
export function peerOfChannel({ ask }: Connection): PeerOf {
  const known = new Map<string, string>()
  return async (shortChannelId) => {
    if (!known.has(shortChannelId)) {
      const { channels } = await ask((lnd) => getChannels({ lnd }))
      for (const { id, other_ids, partner_public_key } of channels)
        for (const name of [id, ...other_ids]) known.set(name, partner_public_key)
    }
    if (!known.has(shortChannelId)) {
      const { channels } = await ask((lnd) => getClosedChannels({ lnd }))
      for (const { id, partner_public_key } of channels) if (id !== undefined) known.set(id, partner_public_key)
    }
    return known.get(shortChannelId) ?? ''
  }
}
