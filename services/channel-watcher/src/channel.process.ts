import type { ChannelCommand } from '@penstock/contracts/channel.ts'
import { holdHeights } from '@penstock/contracts/order/heights.ts'
import { deadline, effect, type Process } from '@penstock/kernel/process.ts'
import type { WatchedChannel, ChannelWatch } from './channel.ts'

/**
 * A stream with a process step is open, and `followChain` observes every open stream. The deadline keeps the stream open and
 * shows the next height that the watch waits for. Its command adds no fact, because only observations apply the heights.
 * Between two blocks an effect searches the mempool for an unseen funding.
 */
export const channelProcess: Process<WatchedChannel, ChannelCommand, 'noticeFunding'> = (channel) => {
  const height = nextHeightOf(channel)
  if (height === null) return []
  const marker = deadline<ChannelCommand>('recheck', { height }, { type: 'Recheck', data: {} })
  if (channel.status !== 'WATCHING' && channel.status !== 'MISSING') return [marker]
  return [marker, effect('noticeFunding', channel.watch.attempt)]
}

/** No payment is held above this height, so by then the order has begun a lease or stopped the watch. */
const longestHoldHeightOf = ({ terms }: ChannelWatch): number => terms.heldAtHeight + holdHeights.maxCltvDelta

function nextHeightOf(channel: WatchedChannel): number | null {
  switch (channel.status) {
    case 'WATCHING':
      return channel.seenBefore
    case 'SEEN':
      return channel.wasConfirmed ? longestHoldHeightOf(channel.watch) : channel.confirmedBefore
    case 'MISSING':
      return channel.goneBefore
    case 'CONFIRMED':
      return channel.location.height + channel.watch.terms.requiredConfirmations - 1
    case 'REACHED':
      return longestHoldHeightOf(channel.watch)
    case 'LEASED':
      return channel.endsAtHeight
    default:
      return null
  }
}
