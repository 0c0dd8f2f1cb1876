import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import { getClosedChannels, getPendingChannels, type SubscribeToChannelsChannelClosedEvent } from 'lightning'
import type { Connection } from './connection.ts'

/**
 * What lnd lists as closed, and what it leaves out until every coin of it is back in a wallet: until then a channel that was
 * closed by force stands among the pending ones, without a word on who did it, and a breach stands nowhere.
 */
export async function closedChannels({ ask }: Connection): Promise<readonly ClosedChannel[]> {
  // The pending ones first: one that is resolved in between is then seen twice rather than not at all.
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const { channels } = await ask((lnd) => getClosedChannels({ lnd }))
  const closed = channels.map(fromClosed)
  const seen = new Set(closed.map(({ outpoint }) => outpoint))
  const unresolved = pending_channels
    .filter(({ is_timelocked }) => is_timelocked)
    .map(({ transaction_id, transaction_vout, partner_public_key, close_transaction_id }): ClosedChannel => ({
      outpoint: `${transaction_id}:${transaction_vout}`,
      shortChannelId: null,
      peer: partner_public_key,
      how: 'force',
      by: null,
      closingTxid: close_transaction_id ?? null,
      height: null,
    }))
  return [...closed, ...unresolved.filter(({ outpoint }) => !seen.has(outpoint))]
}

/** As lnd tells it in its stream; its list says a little more. */
export type Closed = SubscribeToChannelsChannelClosedEvent

export function fromClosed(channel: Closed): ClosedChannel {
  const how = howOf(channel)
  const closingTxid = channel.close_transaction_id ?? null
  return {
    outpoint: `${channel.transaction_id}:${channel.transaction_vout}`,
    shortChannelId: channel.id ?? null,
    peer: channel.partner_public_key,
    how,
    by: byOf(channel, how),
    closingTxid,
    height: closingTxid === null ? null : (channel.close_confirm_height ?? null),
  }
}

function howOf(channel: Closed): ClosedChannel['how'] {
  if (channel.is_cooperative_close) return 'cooperative'
  if (channel.is_local_force_close || channel.is_remote_force_close) return 'force'
  if (channel.is_breach_close) return 'breach'
  // lnd's last kind is the one that `lightning` has no word for.
  return channel.is_funding_cancel ? 'funding-lost' : 'abandoned'
}

function byOf({ is_partner_closed }: Closed, how: ClosedChannel['how']): ClosedChannel['by'] {
  switch (how) {
    case 'abandoned':
      return 'us'
    case 'breach':
      return 'peer'
    default:
      return is_partner_closed === undefined ? null : is_partner_closed ? 'peer' : 'us'
  }
}
