import { Fault } from '@penstock/kernel/result.ts'
import { describe, expect, it } from 'vitest'
import { OpenRefused, type OwnChannel, type UnpublishedFunding } from './lightning.ts'
import type { Here, LightningWorld, WorldNode } from './lightning-world.contract.ts'
import { until } from './waiting.contract.ts'

const CAPACITY_SAT = 500_000n
/** The key of the secret 1: a point of the curve, and no node. */
const NOBODY = `02${'79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'}`

export async function ends(world: LightningWorld): Promise<{ seller: string; buyer: string }> {
  const [seller, buyer] = [(await world.seller.lightning.info()).pubkey, (await world.buyer.lightning.info()).pubkey]
  await until('the seller is connected', () => world.seller.lightning.peers.connect(buyer, world.buyer.socket))
  return { seller, buyer }
}

export const DEPTH_ANNOUNCED = 6

export async function openChannel(world: LightningWorld, isPrivate: boolean, depth = DEPTH_ANNOUNCED): Promise<OwnChannel> {
  const { channels } = world.seller.lightning
  const funding = await until('the peer stays for an opening', () => prepared(world, isPrivate))
  await channels.publish(funding)
  await world.mine(depth)
  return inUse(world, funding.outpoint)
}

/** Nothing where the peer goes meanwhile: after its restart two nodes that both connect give up one of the connections. */
async function prepared(world: LightningWorld, isPrivate: boolean): Promise<UnpublishedFunding | undefined> {
  const { buyer: peer } = await ends(world)
  const request = { peer, capacitySat: CAPACITY_SAT, isPrivate, feeRateSatPerVbyte: 2, baseFeeMsat: 500n, feeRatePpm: 20 }
  try {
    return await world.seller.lightning.channels.prepare(request)
  } catch (error) {
    if (error instanceof OpenRefused && error.reason === 'peer-offline') return undefined
    throw error
  }
}

/** Waits until both ends can use it. @returns it as the seller's node lists it */
const inUse = (world: LightningWorld, outpoint: string): Promise<OwnChannel> =>
  until('the channel is active at both ends', async () => {
    const [ours, theirs] = await Promise.all([find(world.seller, outpoint), find(world.buyer, outpoint)])
    return ours?.state === 'active' && theirs?.state === 'active' && ours
  })

export const find = async ({ lightning }: WorldNode, outpoint: string): Promise<OwnChannel | undefined> =>
  (await lightning.channels.list()).find((channel) => channel.outpoint === outpoint)

export function opening({ world }: Here): void {
  describe('channels', () => {
    it('is prepared in secret, published once, and usable at both ends', async () => {
      const { seller, buyer, chain, mine } = world()
      const { buyer: peer } = await ends(world())
      const { channels } = seller.lightning
      const { height } = await chain.tip()
      const funding = await channels.prepare({ peer, capacitySat: CAPACITY_SAT, isPrivate: false, feeRateSatPerVbyte: 2 })
      expect(funding.outpoint).toMatch(/^[0-9a-f]{64}:\d+$/)
      expect(await find(seller, funding.outpoint)).toMatchObject({
        state: 'pending',
        capacitySat: CAPACITY_SAT,
        peer,
        openedByUs: true,
        isPrepared: true,
        shortChannelId: null,
      })
      expect(await until('the other end has it', () => find(buyer, funding.outpoint))).toMatchObject({
        state: 'pending',
        openedByUs: false,
        isPrepared: false,
      })
      expect(await chain.output(funding.outpoint, height)).toBeUndefined()
      await channels.publish(funding)
      await channels.publish(funding)
      const seen = async (): Promise<boolean> => (await chain.output(funding.outpoint, height)) !== undefined
      await until('it is in the mempool, where that can be seen', async () => !chain.sees.mempool || seen())
      await mine(1)
      const output = await chain.output(funding.outpoint, height)
      expect(output).toMatchObject({ outpoint: funding.outpoint, valueSat: CAPACITY_SAT, height: height + 1 })
      expect(output?.script).toMatch(/^(0020|5120)/)
      await channels.publish(funding)
      expect(await channels.abandon(funding)).toBe('published')
      // Where it stands shows at once, long before it can be used.
      const young = await until('it is in its block', async () => {
        const now = await find(seller, funding.outpoint)
        return typeof now?.shortChannelId === 'string' && now
      })
      expect(young).toMatchObject({ state: 'pending', reserveSat: CAPACITY_SAT / 100n })
      await mine(5)
      const ours = await until('it is active', async () => {
        const now = await find(seller, funding.outpoint)
        return now?.state === 'active' && now
      })
      const { pubkey } = await seller.lightning.info()
      expect(ours.shortChannelId).toBe(young.shortChannelId)
      expect(ours.shortChannelId).toMatch(new RegExp(`^${height + 1}x\\d+x${funding.outpoint.split(':')[1]}$`))
      expect(
        await until('the other end has it', async () => {
          const now = await find(buyer, funding.outpoint)
          return now?.state === 'active' && now
        }),
      ).toMatchObject({ peer: pubkey, capacitySat: CAPACITY_SAT, isPrivate: false, openedByUs: false, localSat: 0n })
    })

    it('can be given up before it is published, and the coins are free again', async () => {
      const { channels, wallet } = world().seller.lightning
      const { buyer } = await ends(world())
      const before = await wallet.confirmedSat()
      const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 })
      expect(await wallet.confirmedSat()).toBeLessThan(before)
      await until('the other end has it', () => find(world().buyer, funding.outpoint))
      expect(await channels.abandon(funding)).toBe('abandoned')
      expect(await channels.abandon(funding)).toBe('abandoned')
      expect(await find(world().seller, funding.outpoint)).toBeUndefined()
      expect(await wallet.confirmedSat()).toBe(before)
      await world().mine(1)
      // Nobody tells the other end: it waits for the funding.
      expect(await find(world().buyer, funding.outpoint)).toMatchObject({ state: 'pending', openedByUs: false })
      await expect(channels.publish(funding)).rejects.toThrow('given up')
      expect(await channels.abandon({ outpoint: `${'ab'.repeat(32)}:0` })).toBe('abandoned')
    })

    it('is published again where its wallet has forgotten it', async (context) => {
      const { chain, forget, mine, seller } = world()
      if (!forget) return context.skip('no wallet of this world can be told to forget')
      const { channels } = seller.lightning
      const { buyer: peer } = await ends(world())
      const { height } = await chain.tip()
      const funding = await channels.prepare({ peer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 })
      await channels.publish(funding)
      await forget(funding.outpoint)
      expect(await find(seller, funding.outpoint)).toMatchObject({ state: 'pending', shortChannelId: null })
      await channels.publish(funding)
      expect(await channels.abandon(funding)).toBe('published')
      await mine(1)
      expect(await chain.output(funding.outpoint, height)).toMatchObject({ valueSat: CAPACITY_SAT, height: height + 1 })
      await until('it is in its block', async () => typeof (await find(seller, funding.outpoint))?.shortChannelId === 'string')
      await mine(5)
    })

    it('can be made more urgent by its change', async () => {
      const { channels } = world().seller.lightning
      const { buyer } = await ends(world())
      const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 1 })
      await channels.publish(funding)
      await channels.bumpFee(funding.outpoint, 20, 50)
      await world().mine(1)
      await channels.bumpFee(funding.outpoint, 30, 50)
      expect(await world().chain.output(funding.outpoint, 0)).toMatchObject({ spentBy: null })
    })
  })
}

export function refusing({ world }: Here): void {
  describe('openings that fail', () => {
    const reason = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'opened',
        (error: unknown) => {
          if (error instanceof OpenRefused) return error.reason
          throw error
        },
      )

    it('says that the coins are too few', async () => {
      const { buyer } = await ends(world())
      const { channels, wallet } = world().buyer.lightning
      const { pubkey: market } = await world().market.lightning.info()
      expect(buyer).not.toBe(market)
      const capacitySat = (await wallet.confirmedSat()) + 1n
      expect(await reason(channels.prepare({ peer: market, capacitySat, isPrivate: false, feeRateSatPerVbyte: 2 }))).toBe(
        'insufficient-funds',
      )
    })

    it('says that the peer wants none', async () => {
      const { seller, buyerRefuses } = world()
      const { buyer: peer } = await ends(world())
      const before = await seller.lightning.wallet.confirmedSat()
      const { length: channels } = await seller.lightning.channels.list()
      const wanted = { peer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 }
      await buyerRefuses(true)
      try {
        expect(await reason(seller.lightning.channels.prepare(wanted))).toBe('peer-refused')
      } finally {
        await buyerRefuses(false)
      }
      // Nothing is left of it.
      expect(await seller.lightning.wallet.confirmedSat()).toBe(before)
      expect((await seller.lightning.channels.list()).length).toBe(channels)
    })

    it('says that the peer is not there', async () => {
      expect(
        await reason(
          world().seller.lightning.channels.prepare({
            peer: NOBODY,
            capacitySat: CAPACITY_SAT,
            isPrivate: false,
            feeRateSatPerVbyte: 2,
          }),
        ),
      ).toBe('peer-offline')
    })
  })
}

export function proving({ world }: Here): void {
  describe('proofs', () => {
    const amountMsat = 10_000_000n

    it('a public channel comes into everybody’s graph at its sixth block, with its ends, size and fees', async () => {
      const { market, buyer, mine } = world()
      const nodes = await ends(world())
      const { outpoint, shortChannelId } = await openChannel(world(), false, DEPTH_ANNOUNCED - 1)
      await until('its own ends have it before', async () => buyer.lightning.graph.channel(outpoint))
      expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
      await mine(1)
      // Its fees come by messages of their own.
      const seen = await until('gossip brought it', async () => {
        const now = await market.lightning.graph.channel(outpoint)
        return now?.policies.length === 2 && now
      })
      expect(seen).toMatchObject({ outpoint, shortChannelId, capacitySat: CAPACITY_SAT })
      expect(new Set(seen.nodes)).toEqual(new Set([nodes.seller, nodes.buyer]))
      expect(seen.policies.find(({ node }) => node === nodes.seller)).toMatchObject({
        baseFeeMsat: 500n,
        feeRatePpm: 20,
        disabled: false,
      })
      expect((await market.lightning.graph.between(nodes.buyer, nodes.seller)).map((channel) => channel.outpoint)).toContain(
        outpoint,
      )
      const told = await market.lightning.peers.addresses(nodes.buyer)
      expect(told).toMatchObject({ alias: 'buyer', sockets: [buyer.socket] })
      expect(await market.lightning.peers.addresses(NOBODY)).toEqual({ alias: '', sockets: [] })
      expect(await market.lightning.graph.between(nodes.buyer, NOBODY)).toEqual([])
      expect((await buyer.lightning.graph.channel(outpoint))?.outpoint).toBe(outpoint)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
      expect(await market.lightning.graph.probe({ ...probe, amountMsat: CAPACITY_SAT * 1000n + 1n })).toEqual({
        reached: false,
        failedAt: 'seller',
        reason: 'TemporaryChannelFailure',
      })
    })

    it('a private channel stays out of it, and a probe through it reaches the buyer', async () => {
      const { market } = world()
      const nodes = await ends(world())
      const { outpoint, shortChannelId } = await openChannel(world(), true)
      expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
      expect((await market.lightning.graph.between(nodes.seller, nodes.buyer)).map((channel) => channel.outpoint)).not.toContain(
        outpoint,
      )
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
      expect(
        await market.lightning.graph.probe({ ...probe, shortChannelId: probe.shortChannelId.replace(/x\d+x\d+$/, 'x9x0') }),
      ).toMatchObject({ reached: false, failedAt: 'seller', reason: 'UnknownNextPeer' })
      const more = await market.lightning.graph.probe({ ...probe, amountMsat: CAPACITY_SAT * 1000n + 1n })
      // Of a young channel a node may not have the news yet that belongs to the answer.
      expect(more).toMatchObject({ reached: false, failedAt: 'seller' })
      expect('reason' in more && more.reason).toMatch(/^Temporary(Channel|Node)Failure$/)
      // Its onion is not for the node at the other end, which can only hand it back.
      expect(await market.lightning.graph.probe({ ...probe, destination: NOBODY })).toEqual({
        reached: false,
        failedAt: 'seller',
        reason: 'InvalidOnionHmac',
      })
      const { pubkey: elsewhere } = await market.lightning.info()
      expect(await market.lightning.graph.probe({ ...probe, via: elsewhere })).toMatchObject({
        reached: false,
        failedAt: 'route',
      })
      expect(await market.lightning.graph.probe({ ...probe, via: NOBODY })).toEqual({
        reached: false,
        failedAt: 'route',
        reason: 'NoRoute',
      })
      const beyond = (await market.lightning.wallet.localSat()) * 1000n + 1n
      expect(await market.lightning.graph.probe({ ...probe, amountMsat: beyond })).toEqual({
        reached: false,
        failedAt: 'route',
        reason: 'NoRoute',
      })
      // Nodes remember where payments failed; what probes find out must not stand in the way of money.
      const bill = { amountMsat: 5_000_000n, expirySeconds: 600, description: 'a payout' }
      const { request } = await world().seller.lightning.payments.createInvoice(bill)
      expect(await market.lightning.payments.pay(request, { maxFeeMsat: 0n, timeoutMs: 10_000 })).toMatchObject({
        state: 'succeeded',
      })
    })

    it('a taproot channel is another output and a private channel all the same; none can be announced', async () => {
      const { buyer, chain, close, market, mine, openTaproot, seller } = world()
      const nodes = await ends(world())
      await expect(openTaproot(CAPACITY_SAT, false)).rejects.toThrow('taproot channels must be private')
      const before = (await chain.tip()).height
      const outpoint = await openTaproot(CAPACITY_SAT, true)
      await mine(DEPTH_ANNOUNCED)
      const { shortChannelId, ...ours } = await inUse(world(), outpoint)
      const like = {
        capacitySat: CAPACITY_SAT,
        isPrivate: true,
        channelType: 'simplified_taproot',
        reserveSat: CAPACITY_SAT / 100n,
      }
      expect(ours).toMatchObject({ ...like, peer: nodes.buyer, openedByUs: true, remoteSat: 0n })
      expect(await find(buyer, outpoint)).toMatchObject({ ...like, peer: nodes.seller, openedByUs: false, localSat: 0n })
      const output = await chain.output(outpoint, before)
      expect(output).toMatchObject({ valueSat: CAPACITY_SAT, height: before + 1, spentBy: null })
      expect(output?.script).toMatch(/^5120[0-9a-f]{64}$/)
      // Its own ends have it, and nobody else.
      for (const { lightning } of [seller, buyer]) await until('its ends have it', () => lightning.graph.channel(outpoint))
      expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
      const between = await market.lightning.graph.between(nodes.seller, nodes.buyer)
      expect(between.map((channel) => channel.outpoint)).not.toContain(outpoint)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
      expect(await market.lightning.graph.probe({ ...probe, destination: NOBODY })).toEqual({
        reached: false,
        failedAt: 'seller',
        reason: 'InvalidOnionHmac',
      })
      await close(outpoint, 'seller', 'cooperative')
      await mine(1)
      const closed = await until('its end is known', async () =>
        (await buyer.lightning.channels.closed()).find((channel) => channel.outpoint === outpoint),
      )
      expect(closed).toMatchObject({ how: 'cooperative', by: 'peer', shortChannelId })
      expect((await chain.output(outpoint, before))?.spentBy?.txid).toBe(closed.closingTxid)
    })

    it('is closed by its node once it is open: with the other end, and by force where that is away', async () => {
      const { seller, buyer, buyerAway, mine } = world()
      const { buyer: peer } = await ends(world())
      const { channels } = seller.lightning
      const ask = { peer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 }
      const young = await channels.prepare(ask)
      await channels.publish(young)
      await expect(channels.close(young.outpoint)).rejects.toThrow(Fault)
      const endOf = (outpoint: string) =>
        until('its end is known', async () => (await channels.closed()).find((channel) => channel.outpoint === outpoint))
      const agreed = (await openChannel(world(), true)).outpoint
      await channels.close(agreed)
      await mine(1)
      expect(await endOf(agreed)).toMatchObject({ how: 'cooperative', by: 'us' })
      await channels.close(agreed)
      const forced = (await openChannel(world(), true)).outpoint
      await buyerAway(async () => {
        await until('the other end is missed', async () => (await find(seller, forced))?.state === 'inactive')
        await channels.close(forced)
        await mine(1)
      })
      const { how, by } = await endOf(forced)
      // Who closed is told later by lnd, when its coins are back.
      expect([how, by === 'us' || by === null]).toEqual(['force', true])
      expect(await find(buyer, agreed)).toBeUndefined()
    })

    it('a probe to a node that is away ends at the one before it', async () => {
      const { buyerAway, market } = world()
      const nodes = await ends(world())
      const { shortChannelId } = await openChannel(world(), true)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      await buyerAway(async () => {
        expect(await market.lightning.graph.probe(probe)).toEqual({
          reached: false,
          failedAt: 'seller',
          reason: 'UnknownNextPeer',
        })
      })
      await until('it is reached again', async () => (await market.lightning.graph.probe(probe)).reached)
    })

    it('a probe that the last node keeps is answered when it lets go', async (context) => {
      const { holdProbes, mine, market } = world()
      if (!holdProbes) return context.skip('no node of this world can be told to hold a probe')
      const nodes = await ends(world())
      const { shortChannelId } = await openChannel(world(), true)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      await holdProbes(true)
      let answers = 0
      const kept = market.lightning.graph.probe(probe).finally(() => answers++)
      try {
        await mine(1)
        await market.lightning.info()
        expect(answers).toBe(0)
      } finally {
        await holdProbes(false)
      }
      expect(await kept).toEqual({ reached: true })
    })
  })
}
