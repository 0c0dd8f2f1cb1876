import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Chain } from './chain.ts'
import { type Invoice, type Lightning, type OwnChannel, OpenRefused } from './lightning.ts'

/** A node and the `host:port` at which its peers find it. */
export type WorldNode = { readonly lightning: Lightning; readonly socket: string }

/**
 * Three nodes with coins, all of one size or more: buyer and seller have no channel with each other, and there are
 * announced and usable ones buyer -> market and market -> seller, of at least 2,000,000 sat on the left side.
 */
export type LightningWorld = {
  readonly market: WorldNode
  readonly buyer: WorldNode
  readonly seller: WorldNode
  readonly chain: Chain
  /** Returns when every node has seen the blocks. */
  mine(count: number): Promise<void>
  teardown(): Promise<void>
}

type Here = { readonly world: () => LightningWorld }

const DEADLINE_MS = 20_000

/** Waits until there is something; the loop ends with a sentence about what never came. */
async function until<T>(what: string, get: () => Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + DEADLINE_MS
  for (;;) {
    const value = await get()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const secret = (): { preimage: string; paymentHash: string } => {
  const preimage = randomBytes(32)
  return { preimage: preimage.toString('hex'), paymentHash: createHash('sha256').update(preimage).digest('hex') }
}

/** What every Lightning node does behind the port, simulated or real. The nodes live through the whole suite. */
export function lightningContract(name: string, open: () => Promise<LightningWorld>): void {
  describe(`lightning: ${name}`, () => {
    let world: LightningWorld
    beforeAll(async () => {
      world = await open()
    }, 120_000)
    afterAll(() => world.teardown())
    const here = { world: () => world }
    describe('a node', () => knowing(here))
    describe('hold invoices', () => holding(here))
    describe('the end of a held HTLC', () => ending(here))
    describe('payments', () => paying(here))
    describe('channels', () => opening(here))
    describe('openings that fail', () => refusing(here))
    describe('proofs', () => proving(here))
  })
}

function knowing({ world }: Here): void {
  it('tells who it is, where the chain is, and when it gives up a hold by itself', async () => {
    const [info, tip] = [await world().market.lightning.info(), await world().chain.tip()]
    expect(info.pubkey).toMatch(/^0[23][0-9a-f]{64}$/)
    expect(info).toMatchObject({ network: 'regtest', synced: true, height: tip.height })
    expect(info.version).not.toBe('')
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
    const { wallet } = world().market.lightning
    expect(await wallet.confirmedSat()).toBeGreaterThan(0n)
    expect(await wallet.inboundSat()).toBeGreaterThan(1_000_000n)
    expect(await wallet.localSat()).toBeGreaterThan(1_000_000n)
  })
}

const AMOUNT_MSAT = 25_000_000n
const PATIENCE = { maxFeeMsat: 100_000n, timeoutMs: 500 }

async function newHold(world: LightningWorld, change: { cltvDelta?: number; expirySeconds?: number } = {}): Promise<{ preimage: string; invoice: Invoice }> {
  const { preimage, paymentHash } = secret()
  const invoice = await world.market.lightning.holds.create({ paymentHash, amountMsat: AMOUNT_MSAT, cltvDelta: 40, expirySeconds: 3600, description: 'an order', ...change })
  return { preimage, invoice }
}

async function heldHold(world: LightningWorld, change: { cltvDelta?: number } = {}): Promise<{ preimage: string; invoice: Invoice }> {
  const hold = await newHold(world, change)
  expect(await world.buyer.lightning.payments.pay(hold.invoice.request, PATIENCE)).toEqual({ state: 'in-flight' })
  const invoice = await until('the invoice is held', async () => {
    const now = await world.market.lightning.holds.find(hold.invoice.paymentHash)
    return now?.state === 'held' && now
  })
  return { ...hold, invoice }
}

function holding({ world }: Here): void {
  it('makes an invoice once: the same hash again gives what is there', async () => {
    const { invoice } = await newHold(world())
    expect(invoice).toMatchObject({ amountMsat: AMOUNT_MSAT, state: 'open', htlcs: [] })
    expect(invoice.request).toMatch(/^lnbcrt/)
    const { holds } = world().market.lightning
    const again = await holds.create({ paymentHash: invoice.paymentHash, amountMsat: 1000n, cltvDelta: 80, expirySeconds: 60, description: 'other' })
    expect(again.request).toBe(invoice.request)
    expect(await holds.find(invoice.paymentHash)).toEqual(invoice)
    expect(await holds.find(secret().paymentHash)).toBeUndefined()
  })

  it('holds a payment until it is settled, and answers second calls', async () => {
    const { market, buyer } = world()
    const { holds } = market.lightning
    const { preimage, invoice } = await heldHold(world())
    expect(invoice.htlcs).toEqual([{ amountMsat: AMOUNT_MSAT, expiryHeight: expect.any(Number), peer: (await buyer.lightning.info()).pubkey, state: 'held' }])
    expect(invoice.htlcs[0]?.expiryHeight).toBeGreaterThanOrEqual((await market.lightning.info()).height + 40)
    expect((await holds.held()).map(({ paymentHash }) => paymentHash)).toContain(invoice.paymentHash)
    expect(await buyer.lightning.payments.find(invoice.paymentHash)).toEqual({ state: 'in-flight' })

    expect(await holds.settle(preimage)).toBe('settled')
    expect(await holds.settle(preimage)).toBe('already-settled')
    expect(await holds.cancel(invoice.paymentHash)).toBe('settled')
    const paid = { state: 'succeeded', preimage, feeMsat: 0n }
    await until('the payer knows', async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'succeeded')
    expect(await buyer.lightning.payments.find(invoice.paymentHash)).toEqual(paid)
    expect(await buyer.lightning.payments.pay(invoice.request, PATIENCE)).toEqual(paid)
    await until('the node shows every HTLC settled', async () => {
      const now = await holds.find(invoice.paymentHash)
      return now?.state === 'settled' && now.htlcs.every(({ state }) => state === 'settled')
    })
    expect((await holds.held()).map(({ paymentHash }) => paymentHash)).not.toContain(invoice.paymentHash)
  })

  it('gives everything back when it is cancelled', async () => {
    const { market, buyer } = world()
    const { holds } = market.lightning
    const before = await buyer.lightning.wallet.localSat()
    const { preimage, invoice } = await heldHold(world())
    expect(await buyer.lightning.wallet.localSat()).toBeLessThan(before)
    expect(await holds.cancel(invoice.paymentHash)).toBe('cancelled')
    expect(await holds.cancel(invoice.paymentHash)).toBe('already-cancelled')
    expect(await holds.settle(preimage)).toBe('cancelled')
    await until('the payment failed', async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed')
    await until('the money is back', async () => (await buyer.lightning.wallet.localSat()) === before)
    expect(await buyer.lightning.payments.pay(invoice.request, PATIENCE)).toMatchObject({ state: 'failed' })
    expect((await holds.find(invoice.paymentHash))?.state).toBe('cancelled')
  })

  it('tells an unpaid invoice from one that it never made', async () => {
    const { holds } = world().market.lightning
    const { preimage, invoice } = await newHold(world())
    expect(await holds.settle(preimage)).toBe('not-held')
    expect(await holds.cancel(invoice.paymentHash)).toBe('cancelled')
    expect(await holds.settle(secret().preimage)).toBe('unknown')
    expect(await holds.cancel(secret().paymentHash)).toBe('unknown')
  })

  it('tells of changes, the present state first', async () => {
    const { market, buyer } = world()
    const { preimage, invoice } = await newHold(world())
    const stop = new AbortController()
    const seen: string[] = []
    const listening = (async () => {
      for await (const { state } of market.lightning.holds.changes(invoice.paymentHash, stop.signal)) if (seen.at(-1) !== state) seen.push(state)
    })()
    await until('the present state', async () => seen.length > 0)
    await buyer.lightning.payments.pay(invoice.request, PATIENCE)
    await until('held', async () => seen.includes('held'))
    await market.lightning.holds.settle(preimage)
    await until('settled', async () => seen.includes('settled'))
    stop.abort()
    await listening
    expect(seen).toEqual(['open', 'held', 'settled'])
  })

  it('is cancelled by the node when nobody paid in time', async () => {
    const { market, buyer } = world()
    const { invoice } = await newHold(world(), { expirySeconds: 1 })
    await until('it is cancelled', async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled')
    expect(await buyer.lightning.payments.pay(invoice.request, PATIENCE)).toMatchObject({ state: 'failed' })
  })
}

function ending({ world }: Here): void {
  it('is cancelled by the node itself so many blocks before, as it says', async () => {
    const { market, buyer, mine } = world()
    const { holdExpiryDelta, height } = await market.lightning.info()
    if (holdExpiryDelta === null) return
    const { invoice } = await heldHold(world(), { cltvDelta: 30 })
    const last = (invoice.htlcs[0]?.expiryHeight ?? 0) - holdExpiryDelta
    await mine(last - height - 1)
    expect((await market.lightning.holds.find(invoice.paymentHash))?.state).toBe('held')
    await mine(1)
    await until('it is cancelled', async () => (await market.lightning.holds.find(invoice.paymentHash))?.state === 'cancelled')
    await until('the payment failed', async () => (await buyer.lightning.payments.find(invoice.paymentHash))?.state === 'failed')
  })
}

function paying({ world }: Here): void {
  const bill = (lightning: Lightning) => lightning.payments.createInvoice({ amountMsat: 4_000_000n, expirySeconds: 3600, description: 'a payout' })

  it('pays an invoice, finds it by its hash, and never pays it twice', async () => {
    const { market, seller } = world()
    const { request, paymentHash } = await bill(seller.lightning)
    expect(await market.lightning.payments.find(paymentHash)).toBeUndefined()
    const [one, two] = await Promise.all([market.lightning.payments.pay(request, { ...PATIENCE, timeoutMs: 10_000 }), market.lightning.payments.pay(request, { ...PATIENCE, timeoutMs: 10_000 })])
    expect(one).toMatchObject({ state: 'succeeded', feeMsat: 0n })
    expect(two).toEqual(one)
    expect(await market.lightning.payments.find(paymentHash)).toEqual(one)
    const invoice = await seller.lightning.payments.findInvoice(paymentHash)
    expect(invoice?.state).toBe('settled')
    expect(invoice?.htlcs).toHaveLength(1)
  })

  it('pays over another node, within its fee limit only', async () => {
    const { buyer, seller } = world()
    const { request } = await bill(seller.lightning)
    expect(await buyer.lightning.payments.pay(request, { maxFeeMsat: 0n, timeoutMs: 10_000 })).toEqual({ state: 'failed', reason: expect.stringMatching(/^(fee-limit|no-route)$/) })
    const paid = await buyer.lightning.payments.pay(request, { ...PATIENCE, timeoutMs: 10_000 })
    expect(paid.state).toBe('succeeded')
    if (paid.state === 'succeeded') expect(paid.feeMsat).toBeGreaterThan(0n)
  })

  it('fails without the money for it, and moves nothing', async () => {
    const { seller, market } = world()
    const before = await seller.lightning.wallet.localSat()
    const amountMsat = (before + 1_000_000n) * 1000n
    const { request } = await market.lightning.payments.createInvoice({ amountMsat, expirySeconds: 3600, description: 'too much' })
    const outcome = await seller.lightning.payments.pay(request, { ...PATIENCE, timeoutMs: 10_000 })
    expect(outcome).toEqual({ state: 'failed', reason: expect.stringMatching(/^(insufficient-balance|no-route)$/) })
    expect(await seller.lightning.wallet.localSat()).toBe(before)
  })

  it('is refused by the payee after its invoice was cancelled', async () => {
    const { market, buyer } = world()
    const { invoice } = await newHold(world())
    await market.lightning.holds.cancel(invoice.paymentHash)
    expect(await buyer.lightning.payments.pay(invoice.request, { ...PATIENCE, timeoutMs: 10_000 })).toEqual({ state: 'failed', reason: 'rejected-by-destination' })
  })
}

const CAPACITY_SAT = 500_000n

async function ends(world: LightningWorld): Promise<{ seller: string; buyer: string }> {
  const [seller, buyer] = [(await world.seller.lightning.info()).pubkey, (await world.buyer.lightning.info()).pubkey]
  await until('the seller is connected', () => world.seller.lightning.peers.connect(buyer, world.buyer.socket))
  return { seller, buyer }
}

async function openChannel(world: LightningWorld, isPrivate: boolean): Promise<OwnChannel> {
  const { buyer } = await ends(world)
  const { channels } = world.seller.lightning
  const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate, feeRateSatPerVbyte: 2, baseFeeMsat: 500n, feeRatePpm: 20 })
  await channels.publish(funding)
  await world.mine(6)
  return until('the channel is active at both ends', async () => {
    const [ours, theirs] = await Promise.all([find(world.seller, funding.outpoint), find(world.buyer, funding.outpoint)])
    return ours?.state === 'active' && theirs?.state === 'active' && ours
  })
}

const find = async ({ lightning }: WorldNode, outpoint: string): Promise<OwnChannel | undefined> =>
  (await lightning.channels.list()).find((channel) => channel.outpoint === outpoint)

function opening({ world }: Here): void {
  it('is prepared in secret, published once, and usable at both ends', async () => {
    const { seller, buyer, chain, mine } = world()
    const { buyer: peer } = await ends(world())
    const { channels } = seller.lightning
    const { height } = await chain.tip()
    const funding = await channels.prepare({ peer, capacitySat: CAPACITY_SAT, isPrivate: false, feeRateSatPerVbyte: 2 })
    expect(funding.outpoint).toMatch(/^[0-9a-f]{64}:\d+$/)
    expect(await find(seller, funding.outpoint)).toMatchObject({ state: 'pending', capacitySat: CAPACITY_SAT, peer, openedByUs: true, shortChannelId: null })
    expect(await chain.output(funding.outpoint, height)).toBeUndefined()
    await channels.publish(funding)
    await channels.publish(funding)
    if (chain.sees.mempool) expect(await until('it is in the mempool', () => chain.output(funding.outpoint, height))).toMatchObject({ valueSat: CAPACITY_SAT, height: null, spentBy: null })
    await mine(1)
    expect(await chain.output(funding.outpoint, height)).toMatchObject({ outpoint: funding.outpoint, valueSat: CAPACITY_SAT, height: height + 1, script: expect.stringMatching(/^(0020|5120)/) })
    await channels.publish(funding)
    expect(await channels.abandon(funding)).toBe('published')
    await mine(5)
    const ours = await until('it is active', async () => {
      const now = await find(seller, funding.outpoint)
      return now?.state === 'active' && now
    })
    const { pubkey } = await seller.lightning.info()
    expect(ours.shortChannelId).toMatch(new RegExp(`^${height + 1}x\\d+x${funding.outpoint.split(':')[1]}$`))
    expect(await until('the other end has it', async () => {
      const now = await find(buyer, funding.outpoint)
      return now?.state === 'active' && now
    })).toMatchObject({ peer: pubkey, capacitySat: CAPACITY_SAT, isPrivate: false, openedByUs: false, localSat: 0n })
  })

  it('can be given up before it is published, and the coins are free again', async () => {
    const { channels, wallet } = world().seller.lightning
    const { buyer } = await ends(world())
    const before = await wallet.confirmedSat()
    const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 2 })
    expect(await wallet.confirmedSat()).toBeLessThan(before)
    expect(await channels.abandon(funding)).toBe('abandoned')
    expect(await channels.abandon(funding)).toBe('abandoned')
    expect(await find(world().seller, funding.outpoint)).toBeUndefined()
    expect(await wallet.confirmedSat()).toBe(before)
    await expect(channels.publish(funding)).rejects.toThrow()
  })

  it('can be made more urgent by its change', async () => {
    const { channels } = world().seller.lightning
    const { buyer } = await ends(world())
    const funding = await channels.prepare({ peer: buyer, capacitySat: CAPACITY_SAT, isPrivate: true, feeRateSatPerVbyte: 1 })
    await channels.publish(funding)
    await channels.bumpFee(funding.outpoint, 20)
    await world().mine(1)
    await channels.bumpFee(funding.outpoint, 30)
    expect(await world().chain.output(funding.outpoint, 0)).toMatchObject({ spentBy: null })
  })
}

function refusing({ world }: Here): void {
  const reason = (call: Promise<unknown>): Promise<string> =>
    call.then(() => 'opened', (error: unknown) => (error instanceof OpenRefused ? error.reason : Promise.reject(error)))

  it('says that the coins are too few', async () => {
    const { buyer } = await ends(world())
    const { channels, wallet } = world().buyer.lightning
    const { pubkey: market } = await world().market.lightning.info()
    expect(buyer).not.toBe(market)
    const capacitySat = (await wallet.confirmedSat()) + 1n
    expect(await reason(channels.prepare({ peer: market, capacitySat, isPrivate: false, feeRateSatPerVbyte: 2 }))).toBe('insufficient-funds')
  })

  it('says that the peer is not there', async () => {
    const peer = `02${'79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'}`
    expect(await reason(world().seller.lightning.channels.prepare({ peer, capacitySat: CAPACITY_SAT, isPrivate: false, feeRateSatPerVbyte: 2 }))).toBe('peer-offline')
  })
}

function proving({ world }: Here): void {
  const amountMsat = 10_000_000n

  it('a public channel comes into everybody’s graph, with its ends, size and fees', async () => {
    const { market, buyer } = world()
    const nodes = await ends(world())
    const { outpoint, shortChannelId } = await openChannel(world(), false)
    const seen = await until('gossip brought it', () => market.lightning.graph.channel(outpoint))
    expect(seen).toMatchObject({ outpoint, shortChannelId, capacitySat: CAPACITY_SAT })
    expect(new Set(seen.nodes)).toEqual(new Set([nodes.seller, nodes.buyer]))
    expect(seen.policies.find(({ node }) => node === nodes.seller)).toMatchObject({ baseFeeMsat: 500n, feeRatePpm: 20, disabled: false })
    expect((await market.lightning.graph.between(nodes.buyer, nodes.seller)).map((channel) => channel.outpoint)).toContain(outpoint)
    expect(await market.lightning.peers.addresses(nodes.buyer)).toEqual({ alias: expect.any(String), sockets: expect.any(Array) })
    expect((await buyer.lightning.graph.channel(outpoint))?.outpoint).toBe(outpoint)
  })

  it('a private channel stays out of it, and a probe through it reaches the buyer', async () => {
    const { market } = world()
    const nodes = await ends(world())
    const { outpoint, shortChannelId } = await openChannel(world(), true)
    expect(await market.lightning.graph.channel(outpoint)).toBeUndefined()
    expect((await market.lightning.graph.between(nodes.seller, nodes.buyer)).map((channel) => channel.outpoint)).not.toContain(outpoint)
    const probe = { via: nodes.seller, shortChannelId: shortChannelId ?? '', destination: nodes.buyer, amountMsat }
    expect(await market.lightning.graph.probe(probe)).toEqual({ reached: true })
    expect(await market.lightning.graph.probe({ ...probe, shortChannelId: probe.shortChannelId.replace(/x\d+x\d+$/, 'x9x0') })).toMatchObject({ reached: false, failedAt: 'seller', reason: 'UnknownNextPeer' })
    const more = await market.lightning.graph.probe({ ...probe, amountMsat: CAPACITY_SAT * 1000n + 1n })
    expect(more).toMatchObject({ reached: false, failedAt: 'seller' })
    const { pubkey: elsewhere } = await market.lightning.info()
    expect(await market.lightning.graph.probe({ ...probe, via: elsewhere })).toMatchObject({ reached: false, failedAt: 'route' })
  })
}
