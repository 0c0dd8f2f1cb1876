import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTemporaryNetwork, type TemporaryNetwork } from './temporary-network.ts'

let network: TemporaryNetwork
beforeEach(() => {
  network = openTemporaryNetwork()
})
afterEach(() => network.drop())

test('a closed channel is in no list, and a re-organisation restores it', async () => {
  const { control, lightning } = network.simnet()
  const buyer = control.nodes().find(({ alias }) => alias === 'buyer')
  const { outpoint } = control.open('seller-ada', buyer?.pubkey ?? '', 1_000_000n)
  control.mine(6)
  const seller = lightning('seller-ada')
  const isListed = async (): Promise<boolean> => (await seller.channels.list()).some((channel) => channel.outpoint === outpoint)
  const isInGraph = async (): Promise<boolean> => {
    const { pubkey } = await seller.info()
    const between = await lightning('market').graph.between(pubkey, buyer?.pubkey ?? '')
    return between.some((channel) => channel.outpoint === outpoint)
  }
  expect([await isListed(), await isInGraph()]).toEqual([true, true])
  control.close(outpoint)
  expect([await isListed(), await isInGraph()]).toEqual([true, false])
  control.mine(1)
  expect(await isListed()).toBe(false)
  expect(control.balances().totalMsat).toBeGreaterThan(0n)
  // The new branch lacks the closing transaction, which returns to the mempool.
  control.reorg(1)
  expect((await seller.channels.list()).find((channel) => channel.outpoint === outpoint)?.state).toBe('closing')
  control.mine(1)
  expect(await isListed()).toBe(false)
})
