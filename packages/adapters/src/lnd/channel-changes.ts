import type { ChannelChange, ClosedChannel } from '@penstock/ports/lightning.ts'
import { subscribeToChannels } from 'lightning'
import { changing } from '../shared/changing.ts'
import { channelNews } from '../shared/channel-news.ts'
import { type Closed, closedChannels, fromClosed } from './closed-channels.ts'
import type { Connection } from './connection.ts'
import { channelStates } from './own-channels.ts'

/** What a stream that died unnoticed costs at most. */
const POLL_MS = 5000
/** The closed ones are many: they are read where one is missed, and so often beside that. */
const CLOSED_MS = 60_000

/** lnd's stream only says when to look, but for what no list of lnd's tells yet: who closed a channel by force, and a breach. */
export async function* channelChanges(node: Connection, signal: AbortSignal): AsyncGenerator<ChannelChange> {
  const { clock } = node
  const news = channelNews()
  const heard = new Map<string, ClosedChannel>()
  let closed: { readonly channels: readonly ClosedChannel[]; readonly at: number } | undefined

  async function read(): Promise<readonly ChannelChange[] | undefined> {
    const open = await channelStates(node)
    if (!closed || news.missing(open).length > 0 || clock.monotonicMs() - closed.at >= CLOSED_MS)
      closed = { channels: await closedChannels(node), at: clock.monotonicMs() }
    const ended = withHeard(closed.channels, heard)
    const gone = new Set(ended.map(({ outpoint }) => outpoint))
    return news.from(
      open.filter(({ outpoint }) => !gone.has(outpoint)),
      ended,
    )
  }

  const listen = (knock: () => void, ended: () => void): (() => void) =>
    subscribe(
      node,
      (one) => {
        if (one) heard.set(one.outpoint, one)
        knock()
      },
      ended,
    )
  for await (const changes of changing({ read, listen, pollMs: POLL_MS, clock, signal })) yield* changes
}

/** A list that knows who began it knows everything else too. */
function withHeard(listed: readonly ClosedChannel[], heard: ReadonlyMap<string, ClosedChannel>): readonly ClosedChannel[] {
  const seen = new Set(listed.map(({ outpoint }) => outpoint))
  const unlisted = [...heard.values()].filter(({ outpoint }) => !seen.has(outpoint))
  return [...listed.map((channel) => (channel.by === null ? (heard.get(channel.outpoint) ?? channel) : channel)), ...unlisted]
}

const EVENTS = ['channel_opening', 'channel_opened', 'channel_active_changed', 'channel_closed'] as const

/** @param told with what lnd says of a channel that was closed, and with nothing where there is just something to look at */
function subscribe({ lnd }: Connection, told: (closed?: ClosedChannel) => void, ended: () => void): () => void {
  const channels = subscribeToChannels({ lnd: lnd() })
  channels.on('channel_opening', () => told())
  channels.on('channel_opened', () => told())
  channels.on('channel_active_changed', () => told())
  // `lightning` leaves what its streams tell untyped.
  channels.on('channel_closed', (closed: Closed) => told(fromClosed(closed)))
  channels.on('error', ended)
  channels.on('end', ended)
  return () => {
    // The last one of them that goes ends the stream.
    for (const event of EVENTS) channels.removeAllListeners(event)
    // A late error without a listener would end the process.
    channels.on('error', () => undefined)
  }
}
