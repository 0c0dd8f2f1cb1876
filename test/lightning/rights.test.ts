import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bake, beyondRole } from '@penstock/adapters/lnd/bake.ts'
import { newLockName } from '@penstock/adapters/lnd/coin-locks.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import type { Connection } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { allowances } from '@penstock/adapters/lnd/macaroon.ts'
import { permissions, type Role, ROLES } from '@penstock/adapters/lnd/permissions.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { bakeMacaroons } from '@penstock/platforms/lnd-bake.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Lightning, OwnChannel } from '@penstock/ports/lightning.ts'
import { connect, fund, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { getLockedUtxos, getPendingPayments, getUtxos, lockUtxo, subscribeToChannels } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keeper } from './keeper.ts'
import { connected, network, noLightning } from './servers.ts'

const PREIMAGES = ['11', '22', '33'].map((byte) => byte.repeat(32))
const SOON = { maxFeeMsat: 100_000n, timeoutMs: 5000 }
const DENIED = /macaroon does not allow/

type Rights = { readonly connection: Connection; readonly lightning: Lightning; readonly chain: Chain }

describe.skipIf(noLightning)('macaroons', () => {
  const servers = network({
    nodes: ['market', 'buyer', 'seller'],
    args: { seller: ['--invoices.holdexpirydelta=20'] },
  })
  let folder: string
  let admin: Connection
  let toMarket: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-macaroons-'))
    for (const node of servers().nodes) await fund(servers(), node, 50_000_000)
    const node = (alias: string) => servers().node(alias)
    toMarket = await openAnnounced(servers(), node('buyer'), node('market'), 2_000_000)
    const toSeller = await openAnnounced(servers(), node('market'), node('seller'), 2_000_000)
    for (const channel of [toMarket, toSeller]) await Promise.all(servers().nodes.map((one) => knowsChannel(one, channel)))
    admin = connected(servers(), 'market')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** As the process of that role would have it. */
  async function as(role: Role, alias: string): Promise<Rights> {
    const file = join(folder, `${role}-${alias}.macaroon`)
    await writeFile(file, await bake(connected(servers(), alias), role))
    const connection = connected(servers(), alias, file)
    return { connection, lightning: lndLightning(connection), chain: lndChain(connection) }
  }

  async function blocksAreSeen({ chain }: Rights): Promise<void> {
    expect((await chain.tip()).synced).toBe(true)
    expect(await chain.feeRate(6)).toBeGreaterThanOrEqual(1)
    expect((await chain.output(toMarket, 400))?.spentBy).toBeNull()
    const stop = new AbortController()
    for await (const tip of chain.tips(stop.signal)) {
      expect(tip.synced).toBe(true)
      stop.abort()
    }
  }

  async function graphIsSeen({ lightning: { graph, peers } }: Rights): Promise<void> {
    const [buyer, market] = [servers().node('buyer').pubkey, servers().node('market').pubkey]
    expect((await graph.channel(toMarket))?.outpoint).toBe(toMarket)
    expect((await graph.between(buyer, market)).length).toBe(1)
    expect((await peers.addresses(buyer)).alias).toBe('buyer')
  }

  /** What an opening leaves behind that was cut off between the locking of its coins and the peer's signature. */
  async function forgottenCoin(): Promise<void> {
    const { lnd } = servers().node('seller')
    const { utxos } = await getUtxos({ lnd, min_confirmations: 1 })
    for (const { transaction_id, transaction_vout } of utxos)
      await lockUtxo({ lnd, id: newLockName(), transaction_id, transaction_vout })
  }

  async function locksLastForWeeks(): Promise<void> {
    const { utxos } = await getLockedUtxos({ lnd: servers().node('seller').lnd })
    const ends = utxos.map(({ lock_expires_at }) => Date.parse(lock_expires_at))
    expect(ends.length).toBeGreaterThan(0)
    for (const end of ends) expect(end).toBeGreaterThan(Date.now() + 20 * 24 * 3_600_000)
  }

  /** The node's own stream: a port that finds everything without it says nothing of the right to it. */
  function streamOf({ connection }: Rights): readonly string[] {
    const heard: string[] = []
    const stream = subscribeToChannels({ lnd: connection.lnd() })
    stream.on('channel_opening', () => heard.push('opening'))
    stream.on('error', (error) => heard.push(String(error)))
    return heard
  }

  async function newChannel({ lightning }: Rights): Promise<OwnChannel> {
    const { seller, buyer } = { seller: servers().node('seller'), buyer: servers().node('buyer') }
    expect(await lightning.peers.connect(buyer.pubkey, buyer.socket)).toBe(true)
    await connect(seller, buyer)
    const ask = { peer: buyer.pubkey, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
    const lost = await lightning.channels.prepare(ask)
    await locksLastForWeeks()
    expect(await lightning.channels.abandon(lost)).toBe('abandoned')
    const funding = await lightning.channels.prepare(ask)
    await lightning.channels.publish(funding)
    await lightning.channels.bumpFee(funding.outpoint, 10, 50)
    await servers().mine(6)
    return until('the channel is active', async () =>
      (await lightning.channels.list()).find(({ outpoint, state }) => outpoint === funding.outpoint && state === 'active'),
    )
  }

  it('a seller’s agent opens and signs with its own, and pays nobody', async () => {
    const rights = await as('seller-agent', 'seller')
    const { lightning } = rights
    await blocksAreSeen(rights)
    expect((await lightning.info()).holdExpiryDelta).toBe(20)
    await forgottenCoin()
    expect(await lightning.wallet.confirmedSat()).toBe(0n)
    expect(await lightning.messages.sign('x')).not.toBe('')
    const heard = streamOf(rights)
    const { outpoint } = await newChannel(rights)
    const stop = new AbortController()
    for await (const change of lightning.channels.changes(stop.signal))
      if (change.outpoint === outpoint && change.state === 'active') stop.abort()
    expect((await lightning.channels.closed()).map(({ how }) => how)).toEqual(['abandoned'])
    expect(new Set(heard)).toEqual(new Set(['opening']))
    const { paymentHash, request } = await lightning.payments.createInvoice({
      amountMsat: 1000n,
      expirySeconds: 60,
      description: 'x',
    })
    expect((await lightning.payments.findInvoice(paymentHash))?.state).toBe('open')
    await expect(lightning.payments.pay(request, SOON)).rejects.toThrow(DENIED)
    await expect(lightning.holds.held()).rejects.toThrow(DENIED)
    await expect(lightning.graph.channel(toMarket)).rejects.toThrow(DENIED)
  })

  it('settlement holds, settles, gives back, pays and probes with its own, and opens or signs nothing', async () => {
    const rights = await as('settlement', 'market')
    const { lightning } = rights
    const [buyer, seller] = [lndLightning(connected(servers(), 'buyer')), lndLightning(connected(servers(), 'seller'))]
    await blocksAreSeen(rights)
    await graphIsSeen(rights)
    expect((await lightning.info()).holdExpiryDelta).toBe(12)
    expect(await lightning.wallet.inboundSat()).toBeGreaterThan(0n)
    expect(await lightning.peers.connect(servers().node('buyer').pubkey, servers().node('buyer').socket)).toBe(true)
    const [settled = '', returned = ''] = PREIMAGES
    for (const preimage of [settled, returned]) {
      const hold = {
        paymentHash: paymentHashOf(preimage),
        amountMsat: 20_000_000n,
        cltvDelta: 60,
        expirySeconds: 600,
        description: 'x',
      }
      const { request } = await lightning.holds.create(hold)
      await buyer.payments.pay(request, { ...SOON, timeoutMs: 500 })
      const stop = new AbortController()
      for await (const { state } of lightning.holds.changes(hold.paymentHash, stop.signal)) if (state === 'held') stop.abort()
    }
    expect((await lightning.holds.held()).length).toBe(2)
    expect(await lightning.holds.settle(settled)).toBe('settled')
    expect(await lightning.holds.cancel(paymentHashOf(returned))).toBe('cancelled')
    const bill = await seller.payments.createInvoice({ amountMsat: 1_000_000n, expirySeconds: 60, description: 'x' })
    expect((await lightning.payments.pay(bill.request, SOON)).state).toBe('succeeded')
    expect((await lightning.payments.find(bill.paymentHash))?.state).toBe('succeeded')
    const probe = { via: servers().node('seller').pubkey, shortChannelId: '1x1x1', destination: servers().node('buyer').pubkey }
    expect(await lightning.graph.probe({ ...probe, amountMsat: 1000n })).toMatchObject({ failedAt: 'seller' })
    await expect(lightning.messages.sign('x')).rejects.toThrow(DENIED)
    const opening = { peer: servers().node('buyer').pubkey, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
    await expect(lightning.channels.prepare(opening)).rejects.toThrow(DENIED)
    await expect(lightning.wallet.confirmedSat()).rejects.toThrow(DENIED)
  })

  it('the watcher proves, and has no call that pays an invoice, or takes or gives back what is held', async () => {
    const rights = await as('channel-watcher', 'market')
    await blocksAreSeen(rights)
    await graphIsSeen(rights)
    const probe = { via: servers().node('seller').pubkey, shortChannelId: '1x1x1', destination: servers().node('buyer').pubkey }
    expect(await rights.lightning.graph.probe({ ...probe, amountMsat: 1000n })).toMatchObject({ failedAt: 'seller' })
    await expect(rights.lightning.holds.settle(PREIMAGES[0] ?? '')).rejects.toThrow(DENIED)
    await expect(rights.lightning.holds.cancel(paymentHashOf(PREIMAGES[0] ?? ''))).rejects.toThrow(DENIED)
    const seller = lndLightning(connected(servers(), 'seller'))
    const bill = await seller.payments.createInvoice({ amountMsat: 1_000_000n, expirySeconds: 60, description: 'x' })
    await expect(rights.lightning.payments.pay(bill.request, SOON)).rejects.toThrow(DENIED)
    expect((await seller.payments.findInvoice(bill.paymentHash))?.state).toBe('open')
  })

  it('readers read', async () => {
    const rights = await as('reader', 'market')
    await blocksAreSeen(rights)
    await graphIsSeen(rights)
    await expect(rights.lightning.holds.held()).rejects.toThrow(DENIED)
    const probe = { via: servers().node('seller').pubkey, shortChannelId: '1x1x1', destination: '', amountMsat: 1000n }
    await expect(rights.lightning.graph.probe(probe)).rejects.toThrow(DENIED)
  })

  it('is made in a folder that need not be there, for its owner’s eyes, also over an older one', async () => {
    const rights = join(folder, 'new', 'rights')
    const { rpcSocket: socket, certFile, adminMacaroonFile: macaroonFile } = servers().node('market')
    const make = () => bakeMacaroons({ socket, certFile, macaroonFile }, ['reader'], rights)
    const [file = ''] = await make()
    await chmod(file, 0o644)
    expect(await make()).toEqual([join(rights, 'reader.macaroon')])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(beyondRole(allowances(await readFile(file)), 'reader')).toEqual([])
  })

  it('tells what a macaroon allows, and what of it is too much', async () => {
    for (const role of ROLES) {
      const allowed = allowances(await bake(admin, role))
      expect(allowed.toSorted()).toEqual(permissions[role].map((uri) => `uri:${uri}`).toSorted())
      expect(beyondRole(allowed, role)).toEqual([])
    }
    const all = allowances(await readFile(servers().node('market').adminMacaroonFile))
    expect(beyondRole(all, 'settlement')).toContain('macaroon:generate')
    expect(() => allowances(Uint8Array.of(1, 2, 3))).toThrow(RangeError)
  })

  it('a probe that is kept from before a restart is waited for, and no second one sent', async () => {
    const keep = keeper(servers().node('seller'))
    const seller = lndLightning(connected(servers(), 'seller'))
    const { shortChannelId, peer } =
      (await seller.channels.list()).find(({ isPrivate, state }) => isPrivate && state === 'active') ?? {}
    const probe = {
      via: servers().node('seller').pubkey,
      shortChannelId: shortChannelId ?? '',
      destination: peer ?? '',
      amountMsat: 1000n,
    }
    const pending = async () => (await getPendingPayments({ lnd: admin.lnd() })).payments.length
    await keep(true)
    const before = lndLightning(admin).graph.probe(probe)
    await until('it is kept', async () => (await pending()) === 1)
    let answers = 0
    const after = lndLightning(connected(servers(), 'market'))
      .graph.probe(probe)
      .finally(() => answers++)
    await servers().mine()
    expect(await pending()).toBe(1)
    expect(answers).toBe(0)
    await keep(false)
    expect(await before).toEqual({ reached: true })
    const watcher = (await as('channel-watcher', 'market')).lightning.graph
    expect(await watcher.probe({ ...probe, destination: servers().node('market').pubkey })).toMatchObject({
      reason: 'InvalidOnionHmac',
    })
    expect(await after).toEqual({ reached: true })
  })
})
