import type { Invoice } from '@penstock/ports/lightning.ts'
import { afterEach, expect, test } from 'vitest'
import { type SettlementMarket, openSettlementMarket } from './market.fixture.ts'

let market: SettlementMarket
afterEach(() => market.close())

/** An invoice without peers, as a node shows it for a payment through a channel that it does not list. */
const unnamed = (invoice: Invoice): Invoice => ({
  ...invoice,
  htlcs: invoice.htlcs.map((htlc) => ({ ...htlc, peer: null })),
})

const open = async (): Promise<void> => {
  market = await openSettlementMarket({}, (ports) => {
    const { holds } = ports.lightning
    const found = async (hash: string) => {
      const invoice = await holds.find(hash)
      return invoice && unnamed(invoice)
    }
    async function* changes(hash: string, signal: AbortSignal) {
      for await (const one of holds.changes(hash, signal)) yield unnamed(one)
    }
    const held = async () => (await holds.held()).map(unnamed)
    return { ...ports, lightning: { ...ports.lightning, holds: { ...holds, find: found, held, changes } } }
  })
}

test('a payment through a peer that the node does not report is recorded, and cancelled at the last height', async () => {
  await open()
  await market.issueHold()
  const held = await market.payHold()
  expect(held.data.htlcs).toMatchObject([{ peer: null }])
  market.control.mine(held.data.expiryHeight - 24 - held.data.heldAtHeight)
  await market.fact('HoldCancelled')
  expect(await market.buyersPayment()).toBe('FAILED')
})
