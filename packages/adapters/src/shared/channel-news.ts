import type { ChannelChange, ClosedChannel, OwnChannel } from '@penstock/ports/lightning.ts'

/** What one listener was told of the channels, and so what is news to him. */
export function channelNews() {
  const told = new Map<string, { readonly text: string; readonly isOpen: boolean }>()
  return {
    /** Whether a channel that was told as open is not among these: what became of it stands in the list of the closed ones. */
    lacks(open: readonly OwnChannel[]): boolean {
      const here = new Set(open.map(({ outpoint }) => outpoint))
      return [...told].some(([outpoint, { isOpen }]) => isOpen && !here.has(outpoint))
    },
    /** @returns what differs from what was told, which is told herewith; undefined: nothing does */
    from(open: readonly OwnChannel[], closed: readonly ClosedChannel[]): readonly ChannelChange[] | undefined {
      const changes = [...open.map(standing), ...closed.map((channel) => ({ ...channel, state: 'closed' }) as const)]
      const news = changes.filter((change) => JSON.stringify(change) !== told.get(change.outpoint)?.text)
      for (const change of news) told.set(change.outpoint, { text: JSON.stringify(change), isOpen: change.state !== 'closed' })
      return news.length === 0 ? undefined : news
    },
  }
}

/** Where the funding of a channel stands that cannot be used yet costs a node too much to find out at every look. */
const standing = ({ outpoint, shortChannelId, peer, state }: OwnChannel): ChannelChange => ({
  outpoint,
  shortChannelId: state === 'pending' ? null : shortChannelId,
  peer,
  state,
})
