import type { ChannelChange, ClosedChannel } from '@penstock/ports/lightning.ts'
import { subscribeToChannels } from 'lightning'
import { streamChanges } from '../../shared/change-stream.ts'
import { createChannelDiff } from '../../shared/channel-diff.ts'
import { type LndClosedChannel, listClosedChannels, toClosedChannel } from './closed-channels.ts'
import type { LndConnection } from '../connection.ts'
import { listChannelStates } from './own-channels.ts'

/** Poll interval in ms. It bounds the delay of a change after the stream has ended unnoticed. */
const POLL_MS = 5000
/** Interval in ms between two reads of the closed channels, which are many. A missing open channel triggers a read at once. */
const CLOSED_POLL_MS = 60_000

/**
 * Streams channel changes by comparing successive lists of lnd. Events of lnd trigger the reads. An event also reports a breach,
 * or the side that force-closed a channel, before the lists do.
 */
export async function* streamChannelChanges(node: LndConnection, signal: AbortSignal): AsyncGenerator<ChannelChange> {
  const { clock } = node
  const tracker = createChannelDiff()
  const streamedCloses = new Map<string, ClosedChannel>()
  let closed: { readonly channels: readonly ClosedChannel[]; readonly at: number } | undefined

  async function read(): Promise<readonly ChannelChange[] | undefined> {
    const open = await listChannelStates(node)
    if (!closed || tracker.missing(open).length > 0 || clock.monotonicMs() - closed.at >= CLOSED_POLL_MS)
      closed = { channels: await listClosedChannels(node), at: clock.monotonicMs() }
    const closes = mergeStreamed(closed.channels, streamedCloses)
    const gone = new Set(closes.map(({ outpoint }) => outpoint))
    return tracker.update(
      open.filter(({ outpoint }) => !gone.has(outpoint)),
      closes,
    )
  }

  const listen = (onChange: () => void, onEnd: () => void): (() => void) =>
    subscribeChannelEvents(
      node,
      (close) => {
        if (close) streamedCloses.set(close.outpoint, close)
        onChange()
      },
      onEnd,
    )
  for await (const changes of streamChanges({ read, listen, pollMs: POLL_MS, clock, signal })) yield* changes
}

/** Adds the streamed closes to the list. A list entry with a closing side takes precedence, because it is complete. */
function mergeStreamed(
  listed: readonly ClosedChannel[],
  streamedCloses: ReadonlyMap<string, ClosedChannel>,
): readonly ClosedChannel[] {
  const seen = new Set(listed.map(({ outpoint }) => outpoint))
  const unlisted = [...streamedCloses.values()].filter(({ outpoint }) => !seen.has(outpoint))
  return [
    ...listed.map((channel) => (channel.by === null ? (streamedCloses.get(channel.outpoint) ?? channel) : channel)),
    ...unlisted,
  ]
}

const EVENTS = ['channel_opening', 'channel_opened', 'channel_active_changed', 'channel_closed'] as const

/** @param onEvent is called with a closed channel, or without an argument if only the lists must be read */
function subscribeChannelEvents(
  { lnd }: LndConnection,
  onEvent: (closed?: ClosedChannel) => void,
  onEnd: () => void,
): () => void {
  const channels = subscribeToChannels({ lnd: lnd() })
  channels.on('channel_opening', () => onEvent())
  channels.on('channel_opened', () => onEvent())
  channels.on('channel_active_changed', () => onEvent())
  // `lightning` leaves the events of its streams untyped.
  channels.on('channel_closed', (closed: LndClosedChannel) => onEvent(toClosedChannel(closed)))
  channels.on('error', onEnd)
  channels.on('end', onEnd)
  return () => {
    // Removing the last listener ends the stream.
    for (const event of EVENTS) channels.removeAllListeners(event)
    // A late error without a listener would end the process.
    channels.on('error', () => undefined)
  }
}
