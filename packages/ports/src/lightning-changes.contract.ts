import { describe, expect, it } from 'vitest'
import type { ChannelChange, ClosedChannel } from './lightning.ts'
import { ends, openChannel } from './lightning-channels.contract.ts'
import type { Here, WorldNode } from './lightning-world.contract.ts'
import { until } from './waiting.contract.ts'

/** Listens to a node while `work` runs. `last` is what was told of a channel most recently. */
async function following(
  { lightning }: WorldNode,
  work: (last: (outpoint: string) => ChannelChange | undefined) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const told = new Map<string, ChannelChange>()
  const listening = (async () => {
    for await (const change of lightning.channels.changes(stop.signal)) told.set(change.outpoint, change)
  })()
  try {
    await work((outpoint) => told.get(outpoint))
  } finally {
    stop.abort()
    await listening
  }
}

/** A node may learn last who closed a channel. */
const toldByWhom = (last: () => ChannelChange | undefined): Promise<ClosedChannel> =>
  until('it is told as closed, and by whom', async () => {
    const now = last()
    return now?.state === 'closed' && now.by !== null && now
  })

const closedAt = async ({ lightning }: WorldNode, outpoint: string): Promise<ClosedChannel | undefined> =>
  (await lightning.channels.closed()).find((channel) => channel.outpoint === outpoint)

export function changing({ world }: Here): void {
  describe('changes of channels', () => {
    it('are told from the opening to a cooperative close, with who began it and where it is in the chain', async () => {
      const { seller, buyer, chain, mine, close } = world()
      const { buyer: peer } = await ends(world())
      const { channels } = seller.lightning
      const { height: before } = await chain.tip()
      await following(seller, async (last) => {
        const ask = { peer, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
        const funding = await channels.prepare(ask)
        const { outpoint } = funding
        await until('it is told as pending', async () => last(outpoint)?.state === 'pending')
        expect(last(outpoint)).toMatchObject({ peer, shortChannelId: null })
        expect(await closedAt(seller, outpoint)).toBeUndefined()
        await channels.publish(funding)
        await mine(6)
        await until('it is told as active', async () => last(outpoint)?.state === 'active')
        const { shortChannelId = '' } = last(outpoint) ?? {}
        expect(shortChannelId).toMatch(/^\d+x\d+x\d+$/)
        await until('the other end can use it', async () =>
          (await buyer.lightning.channels.list()).some((one) => one.outpoint === outpoint && one.state === 'active'),
        )
        await close(outpoint, 'seller', 'cooperative')
        // A node that had the close in a block before it had signed it itself could not tell who began it.
        await until('it is told as closing', async () => last(outpoint)?.state === 'closing')
        await until('the other end closes it too', async () =>
          (await buyer.lightning.channels.list()).some((one) => one.outpoint === outpoint && one.state === 'closing'),
        )
        await mine(6)
        const told = await toldByWhom(() => last(outpoint))
        const spend = (await chain.output(outpoint, before))?.spentBy
        expect(told).toEqual({
          state: 'closed',
          outpoint,
          shortChannelId,
          peer,
          how: 'cooperative',
          by: 'us',
          closingTxid: spend?.txid,
          height: spend?.height,
        })
        const theirs = await until('the other end has it as closed', () => closedAt(buyer, outpoint))
        expect(theirs).toMatchObject({ how: 'cooperative', by: 'peer', closingTxid: spend?.txid, height: spend?.height })
      })
    })

    it('tell a force close by the other end, and both lists agree with it', async () => {
      const { seller, chain, mine, close } = world()
      const { height: before } = await chain.tip()
      const { outpoint } = await openChannel(world(), true)
      await following(seller, async (last) => {
        await until('how it stands is told first', async () => last(outpoint)?.state === 'active')
        await close(outpoint, 'buyer', 'force')
        await mine(1)
        const told = await toldByWhom(() => last(outpoint))
        const spend = (await chain.output(outpoint, before))?.spentBy
        expect(told).toMatchObject({ how: 'force', by: 'peer', closingTxid: spend?.txid, height: spend?.height })
        const { channels } = seller.lightning
        expect((await channels.list()).map((channel) => channel.outpoint)).not.toContain(outpoint)
        // What a node shows of it before every coin is back is less than its stream told.
        expect(await closedAt(seller, outpoint)).toMatchObject({ how: 'force', closingTxid: spend?.txid })
      })
    })

    it('of the time when the node was away are told when it is back, and so is what others saw of it', async () => {
      const { seller, buyer, mine, close, sellerAway } = world()
      const [kept, lost] = [await openChannel(world(), true), await openChannel(world(), true)]
      await following(seller, async (last) => {
        await until('both are told', async () => last(kept.outpoint) && last(lost.outpoint))
        await following(buyer, async (theirs) => {
          await until('it is active there', async () => theirs(kept.outpoint)?.state === 'active')
          await sellerAway(async () => {
            await until('it is told as inactive', async () => theirs(kept.outpoint)?.state === 'inactive')
            await close(lost.outpoint, 'buyer', 'force')
            await mine(1)
          })
        })
        const told = await until('its close is told', async () => {
          const now = last(lost.outpoint)
          return now?.state === 'closed' && now
        })
        expect(told.how).toBe('force')
        expect(told.by).not.toBe('us')
        await ends(world())
        await until('the other one is active again', async () => last(kept.outpoint)?.state === 'active')
      })
      await following(seller, async (last) => {
        await until('whoever comes later is told, too', async () => last(lost.outpoint)?.state === 'closed')
      })
    })

    it('tell what was given up before it was published', async () => {
      const { seller, buyer } = world()
      const { buyer: peer } = await ends(world())
      const { channels } = seller.lightning
      await following(seller, async (last) =>
        following(buyer, async (theirs) => {
          const ask = { peer, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
          const { outpoint } = await channels.prepare(ask)
          await until('it is told as pending', async () => last(outpoint)?.state === 'pending')
          await until('and at the other end', async () => theirs(outpoint)?.state === 'pending')
          await channels.abandon({ outpoint })
          await until('it is told as closed', async () => last(outpoint)?.state === 'closed')
          expect(last(outpoint)).toMatchObject({ how: 'abandoned', by: 'us', closingTxid: null, height: null })
          expect(await closedAt(seller, outpoint)).toMatchObject({ how: 'abandoned', closingTxid: null })
          // The other end waits for the funding, for longer than anybody here.
          expect(theirs(outpoint)?.state).toBe('pending')
          expect(await closedAt(buyer, outpoint)).toBeUndefined()
        }),
      )
    })
  })
}
