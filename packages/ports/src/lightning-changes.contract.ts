import { describe, expect, it } from 'vitest'
import type { ChannelChange, ClosedChannel } from './lightning.ts'
import { connectEnds, openChannel } from './lightning-channels.fixture.ts'
import type { SuiteContext, FixtureNode } from './lightning-nodes.fixture.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

/** Listens to the channel changes of a node while `work` runs. `last` returns the most recent change of a channel. */
async function followChanges(
  { lightning }: FixtureNode,
  work: (last: (outpoint: string) => ChannelChange | undefined) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const changes = new Map<string, ChannelChange>()
  const listening = (async () => {
    for await (const change of lightning.channels.changes(stop.signal)) changes.set(change.outpoint, change)
  })()
  try {
    await work((outpoint) => changes.get(outpoint))
  } finally {
    stop.abort()
    await listening
  }
}

/** Waits for a close and its initiator. A node may learn the initiator late. */
const waitForCloser = (last: () => ChannelChange | undefined): Promise<ClosedChannel> =>
  waitForValue('the close and its initiator are reported', async () => {
    const now = last()
    return now?.state === 'closed' && now.by !== null && now
  })

const findClosed = async ({ lightning }: FixtureNode, outpoint: string): Promise<ClosedChannel | undefined> =>
  (await lightning.channels.closed()).find((channel) => channel.outpoint === outpoint)

export function testChannelChanges({ fixture }: SuiteContext): void {
  describe('changes of channels', () => {
    it('are reported from the opening to a cooperative close, with the initiator and the block of the close', async () => {
      const { seller, buyer, chain, mine, close } = fixture()
      const { buyer: peer } = await connectEnds(fixture())
      const { channels } = seller.lightning
      const { height: before } = await chain.tip()
      await followChanges(seller, async (last) => {
        const request = { peer, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
        const funding = await channels.prepare(request)
        const { outpoint } = funding
        await waitForValue('it is reported as pending', async () => last(outpoint)?.state === 'pending')
        expect(last(outpoint)).toMatchObject({ peer, shortChannelId: null })
        expect(await findClosed(seller, outpoint)).toBeUndefined()
        await channels.publish(funding)
        await mine(6)
        await waitForValue('it is reported as active', async () => last(outpoint)?.state === 'active')
        const { shortChannelId = '' } = last(outpoint) ?? {}
        expect(shortChannelId).toMatch(/^\d+x\d+x\d+$/)
        await waitForValue('it is active at the peer', async () =>
          (await buyer.lightning.channels.list()).some((one) => one.outpoint === outpoint && one.state === 'active'),
        )
        await close(outpoint, 'seller', 'cooperative')
        // A node that sees the close in a block before it has signed the close cannot know the initiator.
        await waitForValue('it is reported as closing', async () => last(outpoint)?.state === 'closing')
        await waitForValue('the peer is closing it too', async () =>
          (await buyer.lightning.channels.list()).some((one) => one.outpoint === outpoint && one.state === 'closing'),
        )
        await mine(6)
        const closed = await waitForCloser(() => last(outpoint))
        const spend = (await chain.output(outpoint, before))?.spentBy
        expect(closed).toEqual({
          state: 'closed',
          outpoint,
          shortChannelId,
          peer,
          how: 'cooperative',
          by: 'us',
          closingTxid: spend?.txid,
          height: spend?.height,
        })
        const theirs = await waitForValue('it is closed at the peer', () => findClosed(buyer, outpoint))
        expect(theirs).toMatchObject({ how: 'cooperative', by: 'peer', closingTxid: spend?.txid, height: spend?.height })
      })
    })

    it('report a force close by the peer, and both lists agree', async () => {
      const { seller, chain, mine, close } = fixture()
      const { height: before } = await chain.tip()
      const { outpoint } = await openChannel(fixture(), true)
      await followChanges(seller, async (last) => {
        await waitForValue('the present state is reported first', async () => last(outpoint)?.state === 'active')
        await close(outpoint, 'buyer', 'force')
        await mine(1)
        const closed = await waitForCloser(() => last(outpoint))
        const spend = (await chain.output(outpoint, before))?.spentBy
        expect(closed).toMatchObject({ how: 'force', by: 'peer', closingTxid: spend?.txid, height: spend?.height })
        const { channels } = seller.lightning
        expect((await channels.list()).map((channel) => channel.outpoint)).not.toContain(outpoint)
        // Until every coin is swept, `closed` shows fewer details of the close than the stream did.
        expect(await findClosed(seller, outpoint)).toMatchObject({ how: 'force', closingTxid: spend?.txid })
      })
    })

    it('during an absence of the node are reported after its return, and its peer reports the absence', async () => {
      const { seller, buyer, mine, close, sellerAway } = fixture()
      const [kept, lost] = [await openChannel(fixture(), true), await openChannel(fixture(), true)]
      await followChanges(seller, async (last) => {
        await waitForValue('both are reported', async () => last(kept.outpoint) && last(lost.outpoint))
        await followChanges(buyer, async (theirs) => {
          await waitForValue('it is active at the peer', async () => theirs(kept.outpoint)?.state === 'active')
          await sellerAway(async () => {
            await waitForValue('it is reported as inactive', async () => theirs(kept.outpoint)?.state === 'inactive')
            await close(lost.outpoint, 'buyer', 'force')
            await mine(1)
          })
        })
        const closed = await waitForValue('its close is reported', async () => {
          const now = last(lost.outpoint)
          return now?.state === 'closed' && now
        })
        expect(closed.how).toBe('force')
        expect(closed.by).not.toBe('us')
        await connectEnds(fixture())
        await waitForValue('the other channel is active again', async () => last(kept.outpoint)?.state === 'active')
      })
      await followChanges(seller, async (last) => {
        await waitForValue('a later listener gets the close too', async () => last(lost.outpoint)?.state === 'closed')
      })
    })

    it('report an opening that is abandoned before it is published', async () => {
      const { seller, buyer } = fixture()
      const { buyer: peer } = await connectEnds(fixture())
      const { channels } = seller.lightning
      await followChanges(seller, async (last) =>
        followChanges(buyer, async (theirs) => {
          const request = { peer, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
          const { outpoint } = await channels.prepare(request)
          await waitForValue('it is reported as pending', async () => last(outpoint)?.state === 'pending')
          await waitForValue('it is reported as pending at the peer', async () => theirs(outpoint)?.state === 'pending')
          await channels.abandon({ outpoint })
          await waitForValue('it is reported as closed', async () => last(outpoint)?.state === 'closed')
          expect(last(outpoint)).toMatchObject({ how: 'abandoned', by: 'us', closingTxid: null, height: null })
          expect(await findClosed(seller, outpoint)).toMatchObject({ how: 'abandoned', closingTxid: null })
          // The peer waits for the funding longer than this test runs.
          expect(theirs(outpoint)?.state).toBe('pending')
          expect(await findClosed(buyer, outpoint)).toBeUndefined()
        }),
      )
    })
  })
}
