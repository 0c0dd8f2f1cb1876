import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changing } from './lightning-changes.contract.ts'
import { opening, proving, refusing } from './lightning-channels.contract.ts'
import { parting } from './lightning-parts.contract.ts'
import { absent, ending, holding, paying } from './lightning-payments.contract.ts'
import { reorganising } from './lightning-reorgs.contract.ts'
import type { Here, LightningWorld } from './lightning-world.contract.ts'

/** What every Lightning node does behind the port, simulated or real. The nodes live through the whole suite. */
export function lightningContract(name: string, open: () => Promise<LightningWorld>): void {
  describe(`lightning: ${name}`, () => {
    let world: LightningWorld
    beforeAll(async () => {
      world = await open()
    }, 120_000)
    afterAll(() => world.teardown())
    const here = { world: () => world }
    const parts = parting(here)
    parts.begin()
    knowing(here)
    holding(here)
    ending(here)
    paying(here)
    opening(here)
    refusing(here)
    proving(here)
    changing(here)
    parts.end()
    reorganising(here)
    // It may cost the buyer's channel, so nothing comes after it.
    absent(here)
  })
}

function knowing({ world }: Here): void {
  describe('a node', () => {
    it('tells who it is, where the chain is, and when it gives up a hold by itself', async () => {
      const [info, tip] = [await world().market.lightning.info(), await world().chain.tip()]
      expect(info.pubkey).toMatch(/^0[23][0-9a-f]{64}$/)
      expect(info).toMatchObject({ network: 'regtest', synced: true, graphSynced: true, height: tip.height })
      expect(info.version).not.toBe('')
      expect(info.uris).toEqual([`${info.pubkey}@${world().market.socket}`])
      expect(info.holdExpiryDelta === null || info.holdExpiryDelta > 0).toBe(true)
    })

    it('signs texts, and anybody finds its key again', async () => {
      const { market, seller } = world()
      const { pubkey } = await seller.lightning.info()
      const signature = await seller.lightning.messages.sign('a statement')
      expect(await market.lightning.messages.recover('a statement', signature)).toBe(pubkey)
      expect(await market.lightning.messages.recover('a statement.', signature)).not.toBe(pubkey)
      expect(await market.lightning.messages.recover('a statement', 'rubbish')).toBeUndefined()
    })

    it('connects to the node with that key at that address, and to nobody else', async () => {
      const { seller, buyer, market } = world()
      const [to, other] = [(await buyer.lightning.info()).pubkey, (await market.lightning.info()).pubkey]
      const nobody = `02${'79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'}`
      expect(await seller.lightning.peers.connect(nobody, buyer.socket)).toBe(false)
      expect(await seller.lightning.peers.isConnected(nobody)).toBe(false)
      expect(await seller.lightning.peers.connect(to, buyer.socket)).toBe(true)
      expect(await seller.lightning.peers.connect(to, buyer.socket)).toBe(true)
      expect(await seller.lightning.peers.isConnected(to)).toBe(true)
      expect(await seller.lightning.peers.isConnected(other)).toBe(true)
    })

    it('knows what it could send and receive', async () => {
      const { wallet, channels } = world().market.lightning
      expect(await wallet.confirmedSat()).toBeGreaterThan(0n)
      expect(await wallet.inboundSat()).toBeGreaterThan(1_000_000n)
      expect(await wallet.localSat()).toBeGreaterThan(1_000_000n)
      const active = (await channels.list()).filter(({ state }) => state === 'active')
      // Nobody can send what he has to keep in the channel.
      const sendable = active.map(({ remoteSat, reserveSat }) => (remoteSat > reserveSat ? remoteSat - reserveSat : 0n))
      expect(await wallet.inboundSat()).toBe(sendable.reduce((sum, sat) => sum + sat, 0n))
      expect(await wallet.localSat()).toBe(active.reduce((sum, { localSat }) => sum + localSat, 0n))
    })
  })
}
