import { type ShortChannelId, parseShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { readBlock } from '@penstock/bitcoin/raw.ts'
import { getBlock, getChannels, getClosedChannels, getPendingChannels } from 'lightning'
import type { Connection } from './connection.ts'

/** Whose channel with us a short channel id names; null where lnd lists none. */
export type PeerOf = (shortChannelId: string) => Promise<string | null>

/** A channel never changes its peer, so each is asked for once. */
export function peerOfChannel(node: Connection): PeerOf {
  const { ask } = node
  const known = new Map<string, string>()
  return async (shortChannelId) => {
    if (!known.has(shortChannelId)) {
      const { channels } = await ask((lnd) => getChannels({ lnd }))
      for (const { id, other_ids, partner_public_key } of channels)
        for (const name of [id, ...other_ids]) known.set(name, partner_public_key)
    }
    if (!known.has(shortChannelId)) {
      const peer = await peerOfClosing(node, shortChannelId)
      if (peer !== undefined) known.set(shortChannelId, peer)
    }
    if (!known.has(shortChannelId)) {
      const { channels } = await ask((lnd) => getClosedChannels({ lnd }))
      for (const { id, partner_public_key } of channels) if (id !== undefined) known.set(id, partner_public_key)
    }
    return known.get(shortChannelId) ?? null
  }
}

/** lnd lists a channel that is closing by its outpoint alone, and a payment may still wait in it. */
async function peerOfClosing({ ask }: Connection, shortChannelId: string): Promise<string | undefined> {
  const place = parseShortChannelId(shortChannelId)
  if (!place) return undefined
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const closing = pending_channels.filter(({ is_opening, transaction_vout }) => !is_opening && transaction_vout === place.vout)
  if (closing.length === 0) return undefined
  const txid = await transactionAt({ ask }, place)
  return closing.find(({ transaction_id }) => transaction_id === txid)?.partner_public_key
}

async function transactionAt({ ask }: Pick<Connection, 'ask'>, { height, txIndex }: ShortChannelId): Promise<string | undefined> {
  const { block } = await ask((lnd) => getBlock({ lnd, height }))
  return readBlock(block).transactions[txIndex]?.txid
}
