import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testChannelChanges } from './lightning-changes.contract.ts'
import { testOpening, testProofs, testRefusedOpenings } from './lightning-channels.contract.ts'
import { testPaymentParts } from './lightning-parts.contract.ts'
import { testAbsentNode, testHoldExpiry, testHolds, testPayments } from './lightning-payments.contract.ts'
import { testReorganisedChannels } from './lightning-reorgs.contract.ts'
import type { SuiteContext, LightningFixture } from './lightning-nodes.fixture.ts'

/** Cases that every Lightning node must pass, simulated or real. The nodes run through the whole suite. */
export function lightningContract(name: string, open: () => Promise<LightningFixture>): void {
  describe(`lightning: ${name}`, () => {
    let fixture: LightningFixture
    beforeAll(async () => {
      fixture = await open()
    }, 120_000)
    afterAll(() => fixture.teardown())
    const here = { fixture: () => fixture }
    const parts = testPaymentParts(here)
    parts.begin()
    testNode(here)
    testHolds(here)
    testHoldExpiry(here)
    testPayments(here)
    testOpening(here)
    testRefusedOpenings(here)
    testProofs(here)
    testChannelChanges(here)
    parts.end()
    testReorganisedChannels(here)
    // This case may close the buyer's channel, so it runs last.
    testAbsentNode(here)
  })
}

function testNode({ fixture }: SuiteContext): void {
  describe('a node', () => {
    it('reports its identity, its chain tip and its hold-expiry delta', async () => {
      const [info, tip] = [await fixture().market.lightning.info(), await fixture().chain.tip()]
      expect(info.pubkey).toMatch(/^0[23][0-9a-f]{64}$/)
      expect(info).toMatchObject({ network: 'regtest', synced: true, graphSynced: true, height: tip.height })
      expect(info.version).not.toBe('')
      expect(info.uris).toEqual([`${info.pubkey}@${fixture().market.socket}`])
      expect(info.holdExpiryDelta === null || info.holdExpiryDelta > 0).toBe(true)
    })

    it('signs texts, and every node recovers its key from the signature', async () => {
      const { market, seller } = fixture()
      const { pubkey } = await seller.lightning.info()
      const signature = await seller.lightning.messages.sign('a statement')
      expect(await market.lightning.messages.recover('a statement', signature)).toBe(pubkey)
      expect(await market.lightning.messages.recover('a statement.', signature)).not.toBe(pubkey)
      expect(await market.lightning.messages.recover('a statement', 'rubbish')).toBeUndefined()
    })

    it('connects only to the node with the given key at the given address', async () => {
      const { seller, buyer, market } = fixture()
      const [to, other] = [(await buyer.lightning.info()).pubkey, (await market.lightning.info()).pubkey]
      const unknownNode = `02${'79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'}`
      expect(await seller.lightning.peers.connect(unknownNode, buyer.socket)).toBe(false)
      expect(await seller.lightning.peers.isConnected(unknownNode)).toBe(false)
      expect(await seller.lightning.peers.connect(to, buyer.socket)).toBe(true)
      expect(await seller.lightning.peers.connect(to, buyer.socket)).toBe(true)
      expect(await seller.lightning.peers.isConnected(to)).toBe(true)
      expect(await seller.lightning.peers.isConnected(other)).toBe(true)
    })

    it('reports the amounts that it can send and receive', async () => {
      const { wallet, channels } = fixture().market.lightning
      expect(await wallet.confirmedSat()).toBeGreaterThan(0n)
      expect(await wallet.inboundSat()).toBeGreaterThan(1_000_000n)
      expect(await wallet.localSat()).toBeGreaterThan(1_000_000n)
      const active = (await channels.list()).filter(({ state }) => state === 'active')
      // A peer cannot send its channel reserve.
      const sendable = active.map(({ remoteSat, reserveSat }) => (remoteSat > reserveSat ? remoteSat - reserveSat : 0n))
      expect(await wallet.inboundSat()).toBe(sendable.reduce((sum, sat) => sum + sat, 0n))
      expect(await wallet.localSat()).toBe(active.reduce((sum, { localSat }) => sum + localSat, 0n))
    })
  })
}
