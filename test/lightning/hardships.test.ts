import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice, Lightning } from '@penstock/ports/lightning.ts'
import { fund, isActive, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { connected, network, noLightning } from './servers.ts'

const CHANNEL_SAT = 2_000_000
const AMOUNT_MSAT = 25_000_000n
const SOON = { maxFeeMsat: 100_000n, timeoutMs: 1000 }

/** What becomes of money and notices while nodes are killed. The market keeps its client through all of it. */
describe.skipIf(noLightning)('a node that dies', () => {
  const servers = network({ nodes: ['market', 'buyer'] })
  let market: Lightning
  let buyer: Lightning
  const channels: string[] = []
  beforeAll(async () => {
    for (const node of servers().nodes) await fund(servers(), node, 50_000_000)
    const [one, other] = [servers().node('buyer'), servers().node('market')]
    for (let count = 0; count < 2; count++) channels.push(await openAnnounced(servers(), one, other, CHANNEL_SAT))
    market = lndLightning(connected(servers(), 'market'))
    buyer = lndLightning(connected(servers(), 'buyer'))
  })

  async function restartMarket(): Promise<void> {
    const node = servers().node('market')
    await node.kill()
    await expect(market.info()).rejects.toThrow(Fault)
    await node.start()
    for (const channel of channels) {
      await isActive(node, channel)
      await isActive(servers().node('buyer'), channel)
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

  const isHeld = (paymentHash: string): Promise<Invoice> =>
    until('it is held', async () => {
      const invoice = await market.holds.find(paymentHash)
      return invoice?.state === 'held' && invoice
    })

  it('keeps what it holds, and whoever followed it goes on following', async () => {
    const { preimage, paymentHash, request } = await hold()
    const stop = new AbortController()
    const seen: Invoice['state'][] = []
    const heights: number[] = []
    const listening = (async () => {
      for await (const { state } of market.holds.changes(paymentHash, stop.signal)) seen.push(state)
    })()
    const chain = lndChain(connected(servers(), 'market'))
    const following = (async () => {
      for await (const { height } of chain.tips(stop.signal)) heights.push(height)
    })()
    await until('it is open', async () => seen.includes('open'))
    expect(await buyer.payments.pay(request, SOON)).toEqual({ state: 'in-flight' })
    await until('it is held', async () => seen.at(-1) === 'held')
    const before = await isHeld(paymentHash)

    await restartMarket()
    await until('it is found again', () => market.holds.find(paymentHash))
    expect(await market.holds.find(paymentHash)).toEqual(before)
    expect((await market.holds.held()).map((invoice) => invoice.paymentHash)).toEqual([paymentHash])
    expect(await buyer.payments.find(paymentHash)).toEqual({ state: 'in-flight' })
    await servers().mine()
    const { height } = await chain.tip()
    await until('the new tip is told', async () => heights.at(-1) === height)
    expect(await market.holds.settle(preimage)).toBe('settled')
    await until('the settling is told', async () => seen.at(-1) === 'settled')
    await until('the payer knows', async () => (await buyer.payments.find(paymentHash))?.state === 'succeeded')
    stop.abort()
    await Promise.all([listening, following])
    expect(seen).toEqual(['open', 'held', 'settled'])
  })

  it('settles once, although it died right after', async () => {
    const { preimage, paymentHash, request } = await hold()
    await buyer.payments.pay(request, SOON)
    await isHeld(paymentHash)
    expect(await market.holds.settle(preimage)).toBe('settled')
    await restartMarket()
    await until('it answers again', () => market.holds.find(paymentHash))
    expect(await market.holds.settle(preimage)).toBe('already-settled')
    expect(await market.holds.cancel(paymentHash)).toBe('settled')
    await until('the payer knows', async () => (await buyer.payments.find(paymentHash))?.state === 'succeeded')
  })

  it('takes a payment in parts, whose earliest end counts', async () => {
    for (const channel of channels) await knowsChannel(servers().node('buyer'), channel)
    const amountMsat = BigInt(CHANNEL_SAT) * 1200n
    const { paymentHash, preimage, request } = await hold(amountMsat)
    await buyer.payments.pay(request, SOON)
    const { htlcs } = await isHeld(paymentHash)
    expect(htlcs.length).toBeGreaterThan(1)
    expect(htlcs.reduce((sum, htlc) => sum + htlc.amountMsat, 0n)).toBe(amountMsat)
    expect(new Set(htlcs.map(({ state }) => state))).toEqual(new Set(['held']))
    expect(new Set(htlcs.map(({ peer }) => peer))).toEqual(new Set([servers().node('buyer').pubkey]))
    expect(await market.holds.settle(preimage)).toBe('settled')
    await until('the payer knows', async () => (await buyer.payments.find(paymentHash))?.state === 'succeeded')
  })

  it('that was away for long is found again soon', async () => {
    const node = servers().node('market')
    await node.kill()
    const end = Date.now() + 25_000
    // As services do: they ask all the time.
    while (Date.now() < end) {
      await expect(market.info()).rejects.toThrow(Fault)
      await sleep(500)
    }
    await node.start()
    const back = Date.now()
    await until('it answers', () => market.info())
    expect(Date.now() - back).toBeLessThan(12_000)
  })
})
