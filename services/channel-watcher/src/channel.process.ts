import type { ChannelCommand } from '@penstock/contracts/channel.ts'
import { deadline, effect, type Process } from '@penstock/kernel/process.ts'
import type { Channel, Watch } from './channel.ts'

/** A payment cannot be held for longer: by then the order has begun a lease or let go. */
const LONGEST_HOLD_BLOCKS = 288

/**
 * A watch goes on until its process is empty. Heights are kept by the looks at the chain alone, so what is due here is a
 * marker: it tells when the watch waits for something next, and its command adds nothing. Between two blocks an effect
 * looks into the mempool for what has not been seen.
 */
export const channelProcess: Process<Channel, ChannelCommand, 'noticeFunding'> = (channel) => {
  const height = nextHeight(channel)
  if (height === null) return []
  const marker = deadline<ChannelCommand>('recheck', { height }, { type: 'Recheck', data: {} })
  if (channel.status !== 'WATCHING' && channel.status !== 'MISSING') return [marker]
  return [marker, effect('noticeFunding', channel.watch.attempt)]
}

const longestHold = ({ terms }: Watch): number => terms.heldAtHeight + LONGEST_HOLD_BLOCKS

function nextHeight(channel: Channel): number | null {
  switch (channel.status) {
    case 'WATCHING':
      return channel.seenBefore
    case 'SEEN':
      return channel.wasConfirmed ? longestHold(channel.watch) : channel.confirmedBefore
    case 'MISSING':
      return channel.goneBefore
    case 'CONFIRMED':
      return channel.place.height + channel.watch.terms.requiredConfirmations - 1
    case 'REACHED':
      return longestHold(channel.watch)
    case 'LEASED':
      return channel.endsAtHeight
    default:
      return null
  }
}
