import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { createChannelDiff } from '../../shared/channel-diff.ts'
import { channelsTopicOf, listChannels } from './channels.ts'
import { findClosedChannel, findClosedChannels } from './closed-channels.ts'
import { findNode } from '../nodes.ts'
import type { SimnetStore } from '../store.ts'

/** Streams the channel changes of a node. A node that does not answer its owner reports no change until it answers again. */
export async function* watchChannelChanges(
  store: SimnetStore,
  pubkey: string,
  signal: AbortSignal,
): AsyncGenerator<ChannelChange> {
  const tracker = createChannelDiff()
  let isFirst = true

  function read(): readonly ChannelChange[] | undefined {
    const node = findNode(store, pubkey)
    if (node?.online !== 1n || node.behaviour === 'silent') return undefined
    const open = listChannels(store, pubkey)
    // A node may have thousands of closed channels, so all are read once, and later only newly closed channels.
    const closed = isFirst
      ? findClosedChannels(store, pubkey)
      : tracker.missing(open).flatMap((outpoint) => findClosedChannel(store, pubkey, outpoint) ?? [])
    isFirst = false
    const result = tracker.update(open, closed)
    tracker.forgetClosed()
    return result
  }

  for await (const changes of store.watch(['tip', channelsTopicOf(pubkey)], signal, read)) yield* changes
}
