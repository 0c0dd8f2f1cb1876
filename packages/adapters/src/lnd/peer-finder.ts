import { type ShortChannelId, parseShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { readBlock } from '@penstock/bitcoin/raw-encoding.ts'
import * as lightning from 'lightning'
import type { LndConnection } from './connection.ts'

/** The calls of lnd that the peer finder makes. */
type LndCalls = Pick<typeof lightning, 'getBlock' | 'getChannels' | 'getClosedChannels' | 'getPendingChannels'>

/** Returns the peer of our channel with the short channel id; null if lnd lists no such channel. */
export type PeerFinder = (shortChannelId: string) => Promise<string | null>

/** The peer of a channel never changes, so it is looked up only once. */
export function createPeerFinder(node: LndConnection, calls: LndCalls = lightning): PeerFinder {
  const { ask } = node
  const known = new Map<string, string>()
  return async (shortChannelId) => {
    if (!known.has(shortChannelId)) {
      const { channels } = await ask((lnd) => calls.getChannels({ lnd }))
      for (const { id, other_ids, partner_public_key } of channels)
        for (const channelId of [id, ...other_ids]) known.set(channelId, partner_public_key)
    }
    if (!known.has(shortChannelId)) {
      const peer = await findClosingPeer(node, calls, shortChannelId)
      if (peer !== undefined) known.set(shortChannelId, peer)
    }
    if (!known.has(shortChannelId)) {
      const { channels } = await ask((lnd) => calls.getClosedChannels({ lnd }))
      for (const { id, partner_public_key } of channels) if (id !== undefined) known.set(id, partner_public_key)
    }
    return known.get(shortChannelId) ?? null
  }
}

/** Finds the peer of a closing channel, which lnd lists only by outpoint. A payment may still be pending in the channel. */
async function findClosingPeer({ ask }: LndConnection, calls: LndCalls, shortChannelId: string): Promise<string | undefined> {
  const location = parseShortChannelId(shortChannelId)
  if (!location) return undefined
  const { pending_channels } = await ask((lnd) => calls.getPendingChannels({ lnd }))
  const closing = pending_channels.filter(({ is_opening, transaction_vout }) => !is_opening && transaction_vout === location.vout)
  if (closing.length === 0) return undefined
  const txid = await findTxidAt({ ask }, calls, location)
  return closing.find(({ transaction_id }) => transaction_id === txid)?.partner_public_key
}

async function findTxidAt(
  { ask }: Pick<LndConnection, 'ask'>,
  calls: LndCalls,
  { height, txIndex }: ShortChannelId,
): Promise<string | undefined> {
  const { block } = await ask((lnd) => calls.getBlock({ lnd, height }))
  return readBlock(block).transactions[txIndex]?.txid
}
