import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { describe, expect, it } from 'vitest'
import { ANNOUNCEMENT_DEPTH, connectEnds, findListedChannel, openChannel } from './lightning-channels.fixture.ts'
import type { SuiteContext } from './lightning-nodes.fixture.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

/** Cases for active channels whose fundings lose their block. No later case can pay through them. */
export function testReorganisedChannels({ fixture }: SuiteContext): void {
  const nodes = () => [fixture().market, fixture().seller, fixture().buyer]
  const inGraphs = async (outpoint: string): Promise<number> =>
    (await Promise.all(nodes().map(({ lightning }) => lightning.graph.channel(outpoint)))).filter(Boolean).length

  /** Both ends keep the channel active with its old id, and no node has it in its graph. */
  async function expectUnchanged(outpoint: string, shortChannelId: string | null): Promise<void> {
    await waitForValue('no node has it in its graph', async () => (await inGraphs(outpoint)) === 0)
    for (const end of [fixture().seller, fixture().buyer])
      expect(await findListedChannel(end, outpoint)).toMatchObject({ state: 'active', shortChannelId })
    expect(await probe(shortChannelId)).toEqual({ reached: true })
  }

  async function probe(shortChannelId: string | null) {
    const { seller: via, buyer: destination } = await connectEnds(fixture())
    const { graph } = fixture().market.lightning
    return graph.probe({ via, shortChannelId: shortChannelId ?? '', destination, amountMsat: 10_000_000n })
  }

  describe('an active channel whose funding is re-organised', () => {
    it('to the same place stays active, and is never announced again', async () => {
      const { outpoint, shortChannelId } = await openChannel(fixture(), false)
      await waitForValue('every node has it in its graph', async () => (await inGraphs(outpoint)) === 3)
      const place = async () => {
        const { height, txIndex } = (await fixture().chain.output(outpoint, 0)) ?? {}
        return { height, txIndex }
      }
      const before = await place()
      await fixture().reorganise(ANNOUNCEMENT_DEPTH, true)
      expect(await place()).toEqual(before)
      await expectUnchanged(outpoint, shortChannelId)
      // A younger channel needs the same number of blocks to be announced.
      const younger = await openChannel(fixture(), false)
      await waitForValue('every node has the younger one in its graph', async () => (await inGraphs(younger.outpoint)) === 3)
      await expectUnchanged(outpoint, shortChannelId)
    })

    it('to no block and then to another block is probed only by its old short channel id', async () => {
      const { chain, mine } = fixture()
      const { outpoint, shortChannelId } = await openChannel(fixture(), true)
      await waitForValue('its ends have it in their graphs', async () => (await inGraphs(outpoint)) === 2)
      await fixture().reorganise(ANNOUNCEMENT_DEPTH, false)
      await expectUnchanged(outpoint, shortChannelId)
      const { height: before } = await chain.tip()
      for (const depth of [1, ANNOUNCEMENT_DEPTH]) {
        await mine(depth)
        await expectUnchanged(outpoint, shortChannelId)
        const { height, txIndex } = (await chain.output(outpoint, before)) ?? {}
        expect(height).toBe(before + 1)
        const own = formatShortChannelId({ height: height ?? 0, txIndex: txIndex ?? 0, vout: Number(outpoint.split(':')[1]) })
        expect(await probe(own)).toEqual({ reached: false, failedAt: 'seller', reason: 'UnknownNextPeer' })
      }
    })
  })
}
