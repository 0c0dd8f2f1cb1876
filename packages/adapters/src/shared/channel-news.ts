import type { ChannelChange, ClosedChannel, OwnChannel } from '@penstock/ports/lightning.ts'

/** What one listener was told of the channels, and so what is news to him. */
export function channelNews() {
  const open = new Map<string, string>()
  const closed = new Map<string, string>()

  /** @returns whether it differs from what was told, which it is herewith */
  function isNews(change: ChannelChange): boolean {
    const [here, there] = change.state === 'closed' ? [closed, open] : [open, closed]
    there.delete(change.outpoint)
    const text = JSON.stringify(change)
    if (here.get(change.outpoint) === text) return false
    here.set(change.outpoint, text)
    return true
  }
  return {
    /** Channels that were told as open and are not among these: what became of them stands in the list of the closed ones. */
    missing(present: readonly OwnChannel[]): readonly string[] {
      const here = new Set(present.map(({ outpoint }) => outpoint))
      return [...open.keys()].filter((outpoint) => !here.has(outpoint))
    },
    /** @returns what differs from what was told, which is told herewith; undefined: nothing does */
    from(present: readonly OwnChannel[], ended: readonly ClosedChannel[]): readonly ChannelChange[] | undefined {
      const changes = [...present.map(standing), ...ended.map((channel) => ({ ...channel, state: 'closed' }) as const)]
      const news = changes.filter(isNews)
      return news.length === 0 ? undefined : news
    },
    /** For who lists no closed channel twice: what was told of them need not be kept. */
    forgetClosed: (): void => closed.clear(),
  }
}

/** Where the funding of a channel stands that cannot be used yet costs a node too much to find out at every look. */
const standing = ({ outpoint, shortChannelId, peer, state }: OwnChannel): ChannelChange => ({
  outpoint,
  shortChannelId: state === 'pending' ? null : shortChannelId,
  peer,
  state,
})
