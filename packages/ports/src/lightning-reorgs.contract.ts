import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { describe, expect, it } from 'vitest'
import { DEPTH_ANNOUNCED, ends, find, openChannel } from './lightning-channels.contract.ts'
import type { Here } from './lightning-world.contract.ts'
import { until } from './waiting.contract.ts'

/** What becomes of channels in use whose fundings lose their block. Nobody can pay through them afterwards. */
export function reorganising({ world }: Here): void {
  const nodes = () => [world().market, world().seller, world().buyer]
  const inGraphs = async (outpoint: string): Promise<number> =>
    (await Promise.all(nodes().map(({ lightning }) => lightning.graph.channel(outpoint)))).filter(Boolean).length

  /** Both ends go on with it as if nothing had happened, and it is in nobody's graph. */
  async function staysAsItWas(outpoint: string, shortChannelId: string | null): Promise<void> {
    await until('nobody has it in his graph', async () => (await inGraphs(outpoint)) === 0)
    for (const end of [world().seller, world().buyer])
      expect(await find(end, outpoint)).toMatchObject({ state: 'active', shortChannelId })
    expect(await probe(shortChannelId)).toEqual({ reached: true })
  }

  async function probe(shortChannelId: string | null) {
    const { seller: via, buyer: destination } = await ends(world())
    const { graph } = world().market.lightning
    return graph.probe({ via, shortChannelId: shortChannelId ?? '', destination, amountMsat: 10_000_000n })
  }

  describe('a channel in use whose funding loses its block', () => {
    it('and is in the same place again: it stays in use, and is never announced again', async () => {
      const { outpoint, shortChannelId } = await openChannel(world(), false)
      await until('everybody has it in his graph', async () => (await inGraphs(outpoint)) === 3)
      const place = async () => {
        const { height, txIndex } = (await world().chain.output(outpoint, 0)) ?? {}
        return { height, txIndex }
      }
      const before = await place()
      await world().reorganise(DEPTH_ANNOUNCED, true)
      expect(await place()).toEqual(before)
      await staysAsItWas(outpoint, shortChannelId)
      // A younger one needs as many blocks to be announced.
      const younger = await openChannel(world(), false)
      await until('everybody has that one in his graph', async () => (await inGraphs(younger.outpoint)) === 3)
      await staysAsItWas(outpoint, shortChannelId)
    })

    it('and is in no block, then in another: a probe reaches through the place that it had, and not through its own', async () => {
      const { chain, mine } = world()
      const { outpoint, shortChannelId } = await openChannel(world(), true)
      await until('its ends have it in their graphs', async () => (await inGraphs(outpoint)) === 2)
      await world().reorganise(DEPTH_ANNOUNCED, false)
      await staysAsItWas(outpoint, shortChannelId)
      const { height: before } = await chain.tip()
      for (const depth of [1, DEPTH_ANNOUNCED]) {
        await mine(depth)
        await staysAsItWas(outpoint, shortChannelId)
        const { height, txIndex } = (await chain.output(outpoint, before)) ?? {}
        expect(height).toBe(before + 1)
        const own = formatShortChannelId({ height: height ?? 0, txIndex: txIndex ?? 0, vout: Number(outpoint.split(':')[1]) })
        expect(await probe(own)).toEqual({ reached: false, failedAt: 'seller', reason: 'UnknownNextPeer' })
      }
    })
  })
}
