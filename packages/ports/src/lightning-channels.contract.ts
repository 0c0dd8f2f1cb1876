import { Fault } from '@penstock/kernel/result.ts'
import { describe, expect, it } from 'vitest'
import { OpenRefused } from './lightning.ts'
import {
  ANNOUNCEMENT_DEPTH,
  CAPACITY_SAT,
  connectEnds,
  findListedChannel,
  openChannel,
  waitUntilActive,
} from './lightning-channels.fixture.ts'
import type { SuiteContext } from './lightning-nodes.fixture.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

/** The public key of the secret 1, which no node has. */
const UNKNOWN_NODE = `02${'79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'}`

export function testOpening({ fixture }: SuiteContext): void {
  describe('a channel', () => {
    it('is prepared without publishing its funding, published once, and usable at both ends', async () => {
      const { seller, buyer, chain, mine } = fixture()
      const { buyer: peer } = await connectEnds(fixture())
      const { channels } = seller.lightning
      const { height } = await chain.tip()
      const funding = await channels.prepare({ peer, capacitySat: CAPACITY_SAT, isPrivate: false, feeRateSatPerVbyte: 2 })
      expect(funding.outpoint).toMatch(/^[0-9a-f]{64}:\d+$/)
      expect(await findListedChannel(seller, funding.outpoint)).toMatchObject({
        state: 'pending',
        capacitySat: CAPACITY_SAT,
        peer,
        openedByUs: true,
        isPrepared: true,
        shortChannelId: null,
      })
      expect(await waitForValue('the peer has it', () => findListedChannel(buyer, funding.outpoint))).toMatchObject({
        state: 'pending',
        openedByUs: false,
        isPrepared: false,
      })
      expect(await chain.output(funding.outpoint, height)).toBeUndefined()
      await channels.publish(funding)
      await channels.publish(funding)
      const seen = async (): Promise<boolean> => (await chain.output(funding.outpoint, height)) !== undefined
      await waitForValue('it is in the mempool, if that is visible', async () => !chain.sees.mempool || seen())
      await mine(1)
      const output = await chain.output(funding.outpoint, height)
      expect(output).toMatchObject({ outpoint: funding.outpoint, valueSat: CAPACITY_SAT, height: height + 1 })
      expect(output?.script).toMatch(/^(0020|5120)/)
      await channels.publish(funding)
      expect(await channels.abandon(funding)).toBe('published')
      // The short channel id appears after the first block, before the channel can be used.
      const young = await waitForValue('it is in its block', async () => {
        const now = await findListedChannel(seller, funding.outpoint)
        return typeof now?.shortChannelId === 'string' && now
      })
      expect(young).toMatchObject({ state: 'pending', reserveSat: CAPACITY_SAT / 100n })
      await mine(5)
      const ours = await waitForValue('it is active', async () => {
        const now = await findListedChannel(seller, funding.outpoint)
        return now?.state === 'active' && now
      })
      const { pubkey } = await seller.lightning.info()
      expect(ours.shortChannelId).toBe(young.shortChannelId)
      expect(ours.shortChannelId).toMatch(new RegExp(`^${height + 1}x\\d+x${funding.outpoint.split(':')[1]}$`))
      expect(
        await waitForValue('the peer has it', async () => {
          const now = await findListedChannel(buyer, funding.outpoint)
          return now?.state === 'active' && now
        }),
      ).toMatchObject({ peer: pubkey, capacitySat: CAPACITY_SAT, isPrivate: false, openedByUs: false, localSat: 0n })
    })

    it('can be abandoned before it is published, which frees its coins', async () => {
      const { channels, wallet } = fixture().seller.lightning
      const { buyer } = await connectEnds(fixture())
      const before = await wallet.confirmedSat()
      const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 })
      expect(await wallet.confirmedSat()).toBeLessThan(before)
      await waitForValue('the peer has it', () => findListedChannel(fixture().buyer, funding.outpoint))
      expect(await channels.abandon(funding)).toBe('abandoned')
      expect(await channels.abandon(funding)).toBe('abandoned')
      expect(await findListedChannel(fixture().seller, funding.outpoint)).toBeUndefined()
      expect(await wallet.confirmedSat()).toBe(before)
      await fixture().mine(1)
      // The peer is not informed, and waits for the funding.
      expect(await findListedChannel(fixture().buyer, funding.outpoint)).toMatchObject({ state: 'pending', openedByUs: false })
      await expect(channels.publish(funding)).rejects.toThrow('abandoned')
      expect(await channels.abandon({ outpoint: `${'ab'.repeat(32)}:0` })).toBe('abandoned')
    })

    it('is published again after the wallet has forgotten its funding', async (context) => {
      const { chain, forget, mine, seller } = fixture()
      if (!forget) return context.skip('the wallets of this fixture cannot forget a transaction')
      const { channels } = seller.lightning
      const { buyer: peer } = await connectEnds(fixture())
      const { height } = await chain.tip()
      const funding = await channels.prepare({ peer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 })
      await channels.publish(funding)
      await forget(funding.outpoint)
      expect(await findListedChannel(seller, funding.outpoint)).toMatchObject({ state: 'pending', shortChannelId: null })
      await channels.publish(funding)
      expect(await channels.abandon(funding)).toBe('published')
      await mine(1)
      expect(await chain.output(funding.outpoint, height)).toMatchObject({ valueSat: CAPACITY_SAT, height: height + 1 })
      await waitForValue(
        'it is in its block',
        async () => typeof (await findListedChannel(seller, funding.outpoint))?.shortChannelId === 'string',
      )
      await mine(5)
    })

    it('can get a higher fee rate by a spend of its change', async () => {
      const { channels } = fixture().seller.lightning
      const { buyer } = await connectEnds(fixture())
      const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 1 })
      await channels.publish(funding)
      await channels.bumpFee(funding.outpoint, 20, 50)
      await fixture().mine(1)
      await channels.bumpFee(funding.outpoint, 30, 50)
      expect(await fixture().chain.output(funding.outpoint, 0)).toMatchObject({ spentBy: null })
    })
  })
}

export function testRefusedOpenings({ fixture }: SuiteContext): void {
  describe('refused openings', () => {
    const reason = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'opened',
        (error: unknown) => {
          if (error instanceof OpenRefused) return error.reason
          throw error
        },
      )

    it('have the reason insufficient-funds if the coins do not suffice', async () => {
      const { buyer } = await connectEnds(fixture())
      const { channels, wallet } = fixture().buyer.lightning
      const { pubkey: market } = await fixture().market.lightning.info()
      expect(buyer).not.toBe(market)
      const capacitySat = (await wallet.confirmedSat()) + 1n
      expect(await reason(channels.prepare({ peer: market, capacitySat, isPrivate: false, feeRateSatPerVbyte: 2 }))).toBe(
        'insufficient-funds',
      )
    })

    it('have the reason peer-refused and leave no trace if the peer refuses', async () => {
      const { seller, buyerRefuses } = fixture()
      const { buyer: peer } = await connectEnds(fixture())
      const before = await seller.lightning.wallet.confirmedSat()
      const { length: channels } = await seller.lightning.channels.list()
      const request = { peer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 }
      await buyerRefuses(true)
      try {
        expect(await reason(seller.lightning.channels.prepare(request))).toBe('peer-refused')
      } finally {
        await buyerRefuses(false)
      }
      // The refused opening leaves no trace.
      expect(await seller.lightning.wallet.confirmedSat()).toBe(before)
      expect((await seller.lightning.channels.list()).length).toBe(channels)
    })

    it('have the reason peer-offline if the peer is offline', async () => {
      expect(
        await reason(
          fixture().seller.lightning.channels.prepare({
            peer: UNKNOWN_NODE,
            capacitySat: CAPACITY_SAT,
            isPrivate: false,
            feeRateSatPerVbyte: 2,
          }),
        ),
      ).toBe('peer-offline')
    })
  })
}

export function testProofs({ fixture }: SuiteContext): void {
  describe('proofs', () => {
    const amountMsat = 10_000_000n

    it('a public channel appears in every graph at its sixth block, with its ends, size and fees', async () => {
      const { market, buyer, mine } = fixture()
      const nodes = await connectEnds(fixture())
      const { outpoint, shortChannelId } = await openChannel(fixture(), false, ANNOUNCEMENT_DEPTH - 1)
      await waitForValue('its own ends have it in their graphs earlier', async () => buyer.lightning.graph.channel(outpoint))
      expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
      await mine(1)
      // The fees arrive in separate gossip messages.
      const seen = await waitForValue('gossip has delivered it', async () => {
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
      const announced = await market.lightning.peers.addresses(nodes.buyer)
      expect(announced).toMatchObject({ alias: 'buyer', sockets: [buyer.socket] })
      expect(await market.lightning.peers.addresses(UNKNOWN_NODE)).toEqual({ alias: '', sockets: [] })
      expect(await market.lightning.graph.between(nodes.buyer, UNKNOWN_NODE)).toEqual([])
      expect((await buyer.lightning.graph.channel(outpoint))?.outpoint).toBe(outpoint)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
      expect(await market.lightning.graph.probe({ ...probe, amountMsat: CAPACITY_SAT * 1000n + 1n })).toEqual({
        reached: false,
        failedAt: 'seller',
        reason: 'TemporaryChannelFailure',
      })
    })

    it('a private channel is only in the graphs of its two nodes, and a probe through it reaches the buyer', async () => {
      const { market } = fixture()
      const nodes = await connectEnds(fixture())
      const { outpoint, shortChannelId } = await openChannel(fixture(), true)
      expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
      expect((await market.lightning.graph.between(nodes.seller, nodes.buyer)).map((channel) => channel.outpoint)).not.toContain(
        outpoint,
      )
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
      expect(
        await market.lightning.graph.probe({ ...probe, shortChannelId: probe.shortChannelId.replace(/x\d+x\d+$/, 'x9x0') }),
      ).toMatchObject({ reached: false, failedAt: 'seller', reason: 'UnknownNextPeer' })
      const larger = await market.lightning.graph.probe({ ...probe, amountMsat: CAPACITY_SAT * 1000n + 1n })
      // For a young channel a node may not yet have the channel update that belongs to the failure.
      expect(larger).toMatchObject({ reached: false, failedAt: 'seller' })
      expect('reason' in larger && larger.reason).toMatch(/^Temporary(Channel|Node)Failure$/)
      // The onion is for another node, so the last node can only return the HTLC.
      expect(await market.lightning.graph.probe({ ...probe, destination: UNKNOWN_NODE })).toEqual({
        reached: false,
        failedAt: 'seller',
        reason: 'InvalidOnionHmac',
      })
      const { pubkey: ownKey } = await market.lightning.info()
      expect(await market.lightning.graph.probe({ ...probe, via: ownKey })).toMatchObject({
        reached: false,
        failedAt: 'route',
      })
      expect(await market.lightning.graph.probe({ ...probe, via: UNKNOWN_NODE })).toEqual({
        reached: false,
        failedAt: 'route',
        reason: 'NoRoute',
      })
      const tooMuch = (await market.lightning.wallet.localSat()) * 1000n + 1n
      expect(await market.lightning.graph.probe({ ...probe, amountMsat: tooMuch })).toEqual({
        reached: false,
        failedAt: 'route',
        reason: 'NoRoute',
      })
      // Nodes remember failed routes. Failed probes must not block later payments.
      const invoiceRequest = { amountMsat: 5_000_000n, expirySeconds: 600, description: 'a payout' }
      const { request } = await fixture().seller.lightning.payments.createInvoice(invoiceRequest)
      expect(await market.lightning.payments.pay(request, { maxFeeMsat: 0n, timeoutMs: 10_000 })).toMatchObject({
        state: 'succeeded',
      })
    })

    it('a taproot channel has a taproot output, and cannot be announced', async () => {
      const { buyer, chain, close, market, mine, openTaproot, seller } = fixture()
      const nodes = await connectEnds(fixture())
      await expect(openTaproot(CAPACITY_SAT, false)).rejects.toThrow('taproot channels must be private')
      const before = (await chain.tip()).height
      const outpoint = await openTaproot(CAPACITY_SAT, true)
      await mine(ANNOUNCEMENT_DEPTH)
      const { shortChannelId, ...ours } = await waitUntilActive(fixture(), outpoint)
      const expectedFields = {
        capacitySat: CAPACITY_SAT,
        isPrivate: true,
        channelType: 'simplified_taproot',
        reserveSat: CAPACITY_SAT / 100n,
      }
      expect(ours).toMatchObject({ ...expectedFields, peer: nodes.buyer, openedByUs: true, remoteSat: 0n })
      expect(await findListedChannel(buyer, outpoint)).toMatchObject({
        ...expectedFields,
        peer: nodes.seller,
        openedByUs: false,
        localSat: 0n,
      })
      const output = await chain.output(outpoint, before)
      expect(output).toMatchObject({ valueSat: CAPACITY_SAT, height: before + 1, spentBy: null })
      expect(output?.script).toMatch(/^5120[0-9a-f]{64}$/)
      // Only the two nodes of the channel have it in their graphs.
      for (const { lightning } of [seller, buyer]) await waitForValue('its ends have it', () => lightning.graph.channel(outpoint))
      expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
      const between = await market.lightning.graph.between(nodes.seller, nodes.buyer)
      expect(between.map((channel) => channel.outpoint)).not.toContain(outpoint)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
      expect(await market.lightning.graph.probe({ ...probe, destination: UNKNOWN_NODE })).toEqual({
        reached: false,
        failedAt: 'seller',
        reason: 'InvalidOnionHmac',
      })
      await close(outpoint, 'seller', 'cooperative')
      await mine(1)
      const closed = await waitForValue('its close is known', async () =>
        (await buyer.lightning.channels.closed()).find((channel) => channel.outpoint === outpoint),
      )
      expect(closed).toMatchObject({ how: 'cooperative', by: 'peer', shortChannelId })
      expect((await chain.output(outpoint, before))?.spentBy?.txid).toBe(closed.closingTxid)
    })

    it('a channel is closed by its node once it is open: cooperatively, or by force if the peer is away', async () => {
      const { seller, buyer, buyerAway, mine } = fixture()
      const { buyer: peer } = await connectEnds(fixture())
      const { channels } = seller.lightning
      const request = { peer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 }
      const young = await channels.prepare(request)
      await channels.publish(young)
      await expect(channels.close(young.outpoint)).rejects.toThrow(Fault)
      const closeOf = (outpoint: string) =>
        waitForValue('its close is known', async () => (await channels.closed()).find((channel) => channel.outpoint === outpoint))
      const agreed = (await openChannel(fixture(), true)).outpoint
      await channels.close(agreed)
      await mine(1)
      expect(await closeOf(agreed)).toMatchObject({ how: 'cooperative', by: 'us' })
      await channels.close(agreed)
      const forced = (await openChannel(fixture(), true)).outpoint
      await buyerAway(async () => {
        await waitForValue('the peer is inactive', async () => (await findListedChannel(seller, forced))?.state === 'inactive')
        await channels.close(forced)
        await mine(1)
      })
      const { how, by } = await closeOf(forced)
      // lnd reports the initiator only after its coins are swept.
      expect([how, by === 'us' || by === null]).toEqual(['force', true])
      expect(await findListedChannel(buyer, agreed)).toBeUndefined()
    })

    it('a probe to an absent node fails at the node before it', async () => {
      const { buyerAway, market } = fixture()
      const nodes = await connectEnds(fixture())
      const { shortChannelId } = await openChannel(fixture(), true)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      await buyerAway(async () => {
        expect(await market.lightning.graph.probe(probe)).toEqual({
          reached: false,
          failedAt: 'seller',
          reason: 'UnknownNextPeer',
        })
      })
      await waitForValue('the probe reaches it again', async () => (await market.lightning.graph.probe(probe)).reached)
    })

    it('a probe that the last node holds is answered after the release', async (context) => {
      const { holdProbes, mine, market } = fixture()
      if (!holdProbes) return context.skip('the nodes of this fixture cannot hold a probe')
      const nodes = await connectEnds(fixture())
      const { shortChannelId } = await openChannel(fixture(), true)
      const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
      await holdProbes(true)
      let answers = 0
      const heldProbe = market.lightning.graph.probe(probe).finally(() => answers++)
      try {
        await mine(1)
        await market.lightning.info()
        expect(answers).toBe(0)
      } finally {
        await holdProbes(false)
      }
      expect(await heldProbe).toEqual({ reached: true })
    })
  })
}
