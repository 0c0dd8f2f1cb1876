import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { channelNews } from '../shared/channel-news.ts'
import { channelsTopic, listChannels } from './channels.ts'
import { closedChannel, closedChannels } from './closed-channels.ts'
import { findNode } from './nodes.ts'
import type { Net } from './store.ts'

/** A node that does not answer its owner tells him nothing either, until it does again. */
export async function* channelChanges(net: Net, pubkey: string, signal: AbortSignal): AsyncGenerator<ChannelChange> {
  const news = channelNews()
  let isFirst = true

  function read(): readonly ChannelChange[] | undefined {
    const node = findNode(net, pubkey)
    if (node?.online !== 1n || node.behaviour === 'silent') return undefined
    const open = listChannels(net, pubkey)
    // A node may have had thousands: all are read once, and then those that have gone since.
    const closed = isFirst
      ? closedChannels(net, pubkey)
      : news.missing(open).flatMap((outpoint) => closedChannel(net, pubkey, outpoint) ?? [])
    isFirst = false
    const told = news.from(open, closed)
    news.forgetClosed()
    return told
  }

  for await (const changes of net.watch(['tip', channelsTopic(pubkey)], signal, read)) yield* changes
}
