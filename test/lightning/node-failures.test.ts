import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice, Lightning } from '@penstock/ports/lightning.ts'
import { fundNode, waitUntilActive, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { connectToNode, useLightningServers, isLightningMissing } from './servers.ts'

const CHANNEL_SAT = 2_000_000
const AMOUNT_MSAT = 25_000_000n
const SHORT_TIMEOUT = { maxFeeMsat: 100_000n, timeoutMs: 1000 }

/** Payments and notifications continue after the kill of a node. The market uses the same client all the time. */
describe.skipIf(isLightningMissing)('a killed node', () => {
  const servers = useLightningServers({ nodes: ['market', 'buyer'] })
  let market: Lightning
  let buyer: Lightning
  const channels: string[] = []
  beforeAll(async () => {
    for (const node of servers().nodes) await fundNode(servers(), node, 50_000_000)
    const [one, other] = [servers().node('buyer'), servers().node('market')]
    for (let count = 0; count < 2; count++) channels.push(await openAnnouncedChannel(servers(), one, other, CHANNEL_SAT))
    market = lndLightning(connectToNode(servers(), 'market'))
    buyer = lndLightning(connectToNode(servers(), 'buyer'))
  })

  async function restartMarket(): Promise<void> {
    const node = servers().node('market')
    await node.kill()
    await expect(market.info()).rejects.toThrow(Fault)
    await node.start()
    for (const channel of channels) {
      await waitUntilActive(node, channel)
      await waitUntilActive(servers().node('buyer'), channel)
    }
  }

  async function hold(amountMsat = AMOUNT_MSAT): Promise<{ preimage: string; paymentHash: string; request: string }> {
    const preimage = randomBytes(32)
    const paymentHash = createHash('sha256').update(preimage).digest('hex')
    const { request } = await market.holds.create({
      paymentHash,
      amountMsat,
      cltvDelta: 60,
      expirySeconds: 600,
      description: 'x',
    })
    return { preimage: preimage.toString('hex'), paymentHash, request }
  }

  const waitUntilHeld = (paymentHash: string): Promise<Invoice> =>
    waitForResult('the payment is held', async () => {
      const invoice = await market.holds.find(paymentHash)
      return invoice?.state === 'held' && invoice
    })

  it('keeps its holds, and its streams continue after the restart', async () => {
    const { preimage, paymentHash, request } = await hold()
    const stop = new AbortController()
    const states: Invoice['state'][] = []
    const heights: number[] = []
    const followInvoice = (async () => {
      for await (const { state } of market.holds.changes(paymentHash, stop.signal)) states.push(state)
    })()
    const chain = lndChain(connectToNode(servers(), 'market'))
    const followTips = (async () => {
      for await (const { height } of chain.tips(stop.signal)) heights.push(height)
    })()
    await waitForResult('the invoice is open', async () => states.includes('open'))
    expect(await buyer.payments.pay(request, SHORT_TIMEOUT)).toEqual({ state: 'in-flight' })
    await waitForResult('the payment is held', async () => states.at(-1) === 'held')
    const before = await waitUntilHeld(paymentHash)

    await restartMarket()
    await waitForResult('the invoice is found again', () => market.holds.find(paymentHash))
    expect(await market.holds.find(paymentHash)).toEqual(before)
    expect((await market.holds.held()).map((invoice) => invoice.paymentHash)).toEqual([paymentHash])
    expect(await buyer.payments.find(paymentHash)).toEqual({ state: 'in-flight' })
    await servers().mine()
    const { height } = await chain.tip()
    await waitForResult('the stream reports the new tip', async () => heights.at(-1) === height)
    expect(await market.holds.settle(preimage)).toBe('settled')
    await waitForResult('the stream reports the settlement', async () => states.at(-1) === 'settled')
    await waitForResult('the payment succeeds', async () => (await buyer.payments.find(paymentHash))?.state === 'succeeded')
    stop.abort()
    await Promise.all([followInvoice, followTips])
    expect(states).toEqual(['open', 'held', 'settled'])
  })

  it('settles a hold once although it is killed right after the settlement', async () => {
    const { preimage, paymentHash, request } = await hold()
    await buyer.payments.pay(request, SHORT_TIMEOUT)
    await waitUntilHeld(paymentHash)
    expect(await market.holds.settle(preimage)).toBe('settled')
    await restartMarket()
    await waitForResult('the node answers again', () => market.holds.find(paymentHash))
    expect(await market.holds.settle(preimage)).toBe('already-settled')
    expect(await market.holds.cancel(paymentHash)).toBe('settled')
    await waitForResult('the payment succeeds', async () => (await buyer.payments.find(paymentHash))?.state === 'succeeded')
  })

  it('holds and settles a payment in parts', async () => {
    for (const channel of channels) await waitUntilInGraph(servers().node('buyer'), channel)
    const amountMsat = BigInt(CHANNEL_SAT) * 1200n
    const { paymentHash, preimage, request } = await hold(amountMsat)
    await buyer.payments.pay(request, SHORT_TIMEOUT)
    const { htlcs } = await waitUntilHeld(paymentHash)
    expect(htlcs.length).toBeGreaterThan(1)
    expect(htlcs.reduce((sum, htlc) => sum + htlc.amountMsat, 0n)).toBe(amountMsat)
    expect(new Set(htlcs.map(({ state }) => state))).toEqual(new Set(['held']))
    expect(new Set(htlcs.map(({ peer }) => peer))).toEqual(new Set([servers().node('buyer').pubkey]))
    expect(await market.holds.settle(preimage)).toBe('settled')
    await waitForResult('the payment succeeds', async () => (await buyer.payments.find(paymentHash))?.state === 'succeeded')
  })

  it('is reachable again soon after a long outage', async () => {
    const node = servers().node('market')
    await node.kill()
    const end = Date.now() + 25_000
    // Services also call their node all the time.
    while (Date.now() < end) {
      await expect(market.info()).rejects.toThrow(Fault)
      await sleep(500)
    }
    await node.start()
    const restartedAt = Date.now()
    await waitForResult('the node answers', () => market.info())
    expect(Date.now() - restartedAt).toBeLessThan(12_000)
  })
})
