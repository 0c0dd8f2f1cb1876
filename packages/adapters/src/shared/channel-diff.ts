import type { ChannelChange, ClosedChannel, OwnChannel } from '@penstock/ports/lightning.ts'

/** Tracks the channel states that one listener has received, to find the changes that it lacks. */
export function createChannelDiff() {
  const open = new Map<string, string>()
  const closed = new Map<string, string>()

  /** @returns whether the change differs from the last recorded state; records it */
  function isChanged(change: ChannelChange): boolean {
    const [current, opposite] = change.state === 'closed' ? [closed, open] : [open, closed]
    opposite.delete(change.outpoint)
    const text = JSON.stringify(change)
    if (current.get(change.outpoint) === text) return false
    current.set(change.outpoint, text)
    return true
  }
  return {
    /** @returns the recorded open channels that are not in `present`. The list of closed channels shows their end. */
    missing(present: readonly OwnChannel[]): readonly string[] {
      const current = new Set(present.map(({ outpoint }) => outpoint))
      return [...open.keys()].filter((outpoint) => !current.has(outpoint))
    },
    /** @returns the changes since the last update; undefined if there are none */
    update(present: readonly OwnChannel[], ended: readonly ClosedChannel[]): readonly ChannelChange[] | undefined {
      const changes = [...present.map(toChange), ...ended.map((channel) => ({ ...channel, state: 'closed' }) as const)]
      const changed = changes.filter(isChanged)
      return changed.length === 0 ? undefined : changed
    },
    /** Frees the records of closed channels, for a source that lists no closed channel twice. */
    forgetClosed: (): void => closed.clear(),
  }
}

/** Omits the short channel id of a pending channel, because its lookup at every read is too expensive for a node. */
const toChange = ({ outpoint, shortChannelId, peer, state }: OwnChannel): ChannelChange => ({
  outpoint,
  shortChannelId: state === 'pending' ? null : shortChannelId,
  peer,
  state,
})
