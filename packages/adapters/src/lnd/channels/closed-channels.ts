import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import { getClosedChannels, getPendingChannels, type SubscribeToChannelsChannelClosedEvent } from 'lightning'
import type { LndConnection } from '../connection.ts'

/**
 * Lists the closed channels. lnd lists a channel as closed only after all its coins are back in a wallet. Until then it lists a
 * force-closed channel as pending, without the closing side, and a breach not at all.
 */
export async function listClosedChannels({ ask }: LndConnection): Promise<readonly ClosedChannel[]> {
  // Pending channels are read first, so that a channel that is resolved in between appears twice rather than not at all.
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const { channels } = await ask((lnd) => getClosedChannels({ lnd }))
  const closed = channels.map(toClosedChannel)
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

/** A closed channel as an event of lnd contains it. An entry of the list has a few more fields. */
export type LndClosedChannel = SubscribeToChannelsChannelClosedEvent

export function toClosedChannel(channel: LndClosedChannel): ClosedChannel {
  const how = closeKindOf(channel)
  const closingTxid = channel.close_transaction_id ?? null
  return {
    outpoint: `${channel.transaction_id}:${channel.transaction_vout}`,
    shortChannelId: channel.id ?? null,
    peer: channel.partner_public_key,
    how,
    by: closedByOf(channel, how),
    closingTxid,
    height: closingTxid === null ? null : (channel.close_confirm_height ?? null),
  }
}

function closeKindOf(channel: LndClosedChannel): ClosedChannel['how'] {
  if (channel.is_cooperative_close) return 'cooperative'
  if (channel.is_local_force_close || channel.is_remote_force_close) return 'force'
  if (channel.is_breach_close) return 'breach'
  // The only other kind of close, an abandoned channel, has no field in `lightning`.
  return channel.is_funding_cancel ? 'funding-lost' : 'abandoned'
}

function closedByOf({ is_partner_closed }: LndClosedChannel, how: ClosedChannel['how']): ClosedChannel['by'] {
  switch (how) {
    case 'abandoned':
      return 'us'
    case 'breach':
      return 'peer'
    default:
      return is_partner_closed === undefined ? null : is_partner_closed ? 'peer' : 'us'
  }
}
