import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bakeMacaroon } from '@penstock/adapters/lnd/bake-macaroon.ts'
import { createLockId } from '@penstock/adapters/lnd/channels/utxo-locks.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import type { LndConnection } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { readMacaroonPermissions } from '@penstock/adapters/lnd/macaroon.ts'
import { findExcessPermissions, macaroonPermissions, MACAROON_ROLES } from '@penstock/adapters/lnd/permissions.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { bakeMacaroons } from '@penstock/platforms/lnd-bake.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Lightning, OwnChannel } from '@penstock/ports/lightning.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import { connectPeers, fundNode, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { getLockedUtxos, getPendingPayments, getUtxos, lockUtxo, subscribeToChannels } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHtlcInterceptor } from './htlc-interceptor.ts'
import { connectToNode, useLightningServers, isLightningMissing } from './servers.ts'

const PREIMAGES = ['11', '22', '33'].map((byte) => byte.repeat(32))
const SHORT_TIMEOUT = { maxFeeMsat: 100_000n, timeoutMs: 5000 }
const PERMISSION_DENIED = /macaroon does not allow/

type MacaroonRights = { readonly connection: LndConnection; readonly lightning: Lightning; readonly chain: Chain }

describe.skipIf(isLightningMissing)('macaroons', () => {
  const servers = useLightningServers({
    nodes: ['market', 'buyer', 'seller'],
    args: { seller: ['--invoices.holdexpirydelta=20'] },
  })
  let folder: string
  let admin: LndConnection
  let toMarket: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-macaroons-'))
    for (const node of servers().nodes) await fundNode(servers(), node, 50_000_000)
    const node = (alias: string) => servers().node(alias)
    toMarket = await openAnnouncedChannel(servers(), node('buyer'), node('market'), 2_000_000)
    const toSeller = await openAnnouncedChannel(servers(), node('market'), node('seller'), 2_000_000)
    for (const channel of [toMarket, toSeller]) await Promise.all(servers().nodes.map((one) => waitUntilInGraph(one, channel)))
    admin = connectToNode(servers(), 'market')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Connects to a node with a macaroon that is baked for the role. */
  async function connectAs(role: MacaroonRole, alias: string): Promise<MacaroonRights> {
    const file = join(folder, `${role}-${alias}.macaroon`)
    await writeFile(file, await bakeMacaroon(connectToNode(servers(), alias), role))
    const connection = connectToNode(servers(), alias, file)
    return { connection, lightning: lndLightning(connection), chain: lndChain(connection) }
  }

  async function expectBlockAccess({ chain }: MacaroonRights): Promise<void> {
    expect((await chain.tip()).synced).toBe(true)
    expect(await chain.feeRate(6)).toBeGreaterThanOrEqual(1)
    expect((await chain.output(toMarket, 400))?.spentBy).toBeNull()
    const stop = new AbortController()
    for await (const tip of chain.tips(stop.signal)) {
      expect(tip.synced).toBe(true)
      stop.abort()
    }
  }

  async function expectGraphAccess({ lightning: { graph, peers } }: MacaroonRights): Promise<void> {
    const [buyer, market] = [servers().node('buyer').pubkey, servers().node('market').pubkey]
    expect((await graph.channel(toMarket))?.outpoint).toBe(toMarket)
    expect((await graph.between(buyer, market)).length).toBe(1)
    expect((await peers.addresses(buyer)).alias).toBe('buyer')
  }

  /** Locks all coins, as openings do that were interrupted between the lock and the peer's signature. */
  async function lockAllCoins(): Promise<void> {
    const { lnd } = servers().node('seller')
    const { utxos } = await getUtxos({ lnd, min_confirmations: 1 })
    for (const { transaction_id, transaction_vout } of utxos)
      await lockUtxo({ lnd, id: createLockId(), transaction_id, transaction_vout })
  }

  async function expectLongLocks(): Promise<void> {
    const { utxos } = await getLockedUtxos({ lnd: servers().node('seller').lnd })
    const ends = utxos.map(({ lock_expires_at }) => Date.parse(lock_expires_at))
    expect(ends.length).toBeGreaterThan(0)
    for (const end of ends) expect(end).toBeGreaterThan(Date.now() + 20 * 24 * 3_600_000)
  }

  /** Reads lnd's stream of channel events directly, because the port also works without the permission for this stream. */
  function streamOf({ connection }: MacaroonRights): readonly string[] {
    const events: string[] = []
    const stream = subscribeToChannels({ lnd: connection.lnd() })
    stream.on('channel_opening', () => events.push('opening'))
    stream.on('error', (error) => events.push(String(error)))
    return events
  }

  async function createChannel({ lightning }: MacaroonRights): Promise<OwnChannel> {
    const { seller, buyer } = { seller: servers().node('seller'), buyer: servers().node('buyer') }
    expect(await lightning.peers.connect(buyer.pubkey, buyer.socket)).toBe(true)
    await connectPeers(seller, buyer)
    const opening = { peer: buyer.pubkey, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
    const lost = await lightning.channels.prepare(opening)
    await expectLongLocks()
    expect(await lightning.channels.abandon(lost)).toBe('abandoned')
    const funding = await lightning.channels.prepare(opening)
    await lightning.channels.publish(funding)
    await lightning.channels.bumpFee(funding.outpoint, 10, 50)
    await servers().mine(6)
    return waitForResult('the channel is active', async () =>
      (await lightning.channels.list()).find(({ outpoint, state }) => outpoint === funding.outpoint && state === 'active'),
    )
  }

  it('of a seller’s agent allow openings and signatures, and no payments', async () => {
    const rights = await connectAs('seller-agent', 'seller')
    const { lightning } = rights
    await expectBlockAccess(rights)
    expect((await lightning.info()).holdExpiryDelta).toBe(20)
    await lockAllCoins()
    expect(await lightning.wallet.confirmedSat()).toBe(0n)
    expect(await lightning.messages.sign('x')).not.toBe('')
    const events = streamOf(rights)
    const { outpoint } = await createChannel(rights)
    const stop = new AbortController()
    for await (const change of lightning.channels.changes(stop.signal))
      if (change.outpoint === outpoint && change.state === 'active') stop.abort()
    expect((await lightning.channels.closed()).map(({ how }) => how)).toEqual(['abandoned'])
    expect(new Set(events)).toEqual(new Set(['opening']))
    const { paymentHash, request } = await lightning.payments.createInvoice({
      amountMsat: 1000n,
      expirySeconds: 60,
      description: 'x',
    })
    expect((await lightning.payments.findInvoice(paymentHash))?.state).toBe('open')
    await expect(lightning.payments.pay(request, SHORT_TIMEOUT)).rejects.toThrow(PERMISSION_DENIED)
    await expect(lightning.holds.held()).rejects.toThrow(PERMISSION_DENIED)
    await expect(lightning.graph.channel(toMarket)).rejects.toThrow(PERMISSION_DENIED)
  })

  it('of settlement allow holds, payments and probes, and no openings or signatures', async () => {
    const rights = await connectAs('settlement', 'market')
    const { lightning } = rights
    const [buyer, seller] = [lndLightning(connectToNode(servers(), 'buyer')), lndLightning(connectToNode(servers(), 'seller'))]
    await expectBlockAccess(rights)
    await expectGraphAccess(rights)
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
      await buyer.payments.pay(request, { ...SHORT_TIMEOUT, timeoutMs: 500 })
      const stop = new AbortController()
      for await (const { state } of lightning.holds.changes(hold.paymentHash, stop.signal)) if (state === 'held') stop.abort()
    }
    expect((await lightning.holds.held()).length).toBe(2)
    expect(await lightning.holds.settle(settled)).toBe('settled')
    expect(await lightning.holds.cancel(paymentHashOf(returned))).toBe('cancelled')
    const invoice = await seller.payments.createInvoice({ amountMsat: 1_000_000n, expirySeconds: 60, description: 'x' })
    expect((await lightning.payments.pay(invoice.request, SHORT_TIMEOUT)).state).toBe('succeeded')
    expect((await lightning.payments.find(invoice.paymentHash))?.state).toBe('succeeded')
    const probe = { via: servers().node('seller').pubkey, shortChannelId: '1x1x1', destination: servers().node('buyer').pubkey }
    expect(await lightning.graph.probe({ ...probe, amountMsat: 1000n })).toMatchObject({ failedAt: 'seller' })
    await expect(lightning.messages.sign('x')).rejects.toThrow(PERMISSION_DENIED)
    const opening = { peer: servers().node('buyer').pubkey, capacitySat: 500_000n, isPrivate: true, feeRateSatPerVbyte: 2 }
    await expect(lightning.channels.prepare(opening)).rejects.toThrow(PERMISSION_DENIED)
    await expect(lightning.wallet.confirmedSat()).rejects.toThrow(PERMISSION_DENIED)
  })

  it('of the channel watcher allow proofs, and no payments, settlements or cancellations', async () => {
    const rights = await connectAs('channel-watcher', 'market')
    await expectBlockAccess(rights)
    await expectGraphAccess(rights)
    const probe = { via: servers().node('seller').pubkey, shortChannelId: '1x1x1', destination: servers().node('buyer').pubkey }
    expect(await rights.lightning.graph.probe({ ...probe, amountMsat: 1000n })).toMatchObject({ failedAt: 'seller' })
    await expect(rights.lightning.holds.settle(PREIMAGES[0] ?? '')).rejects.toThrow(PERMISSION_DENIED)
    await expect(rights.lightning.holds.cancel(paymentHashOf(PREIMAGES[0] ?? ''))).rejects.toThrow(PERMISSION_DENIED)
    const seller = lndLightning(connectToNode(servers(), 'seller'))
    const invoice = await seller.payments.createInvoice({ amountMsat: 1_000_000n, expirySeconds: 60, description: 'x' })
    await expect(rights.lightning.payments.pay(invoice.request, SHORT_TIMEOUT)).rejects.toThrow(PERMISSION_DENIED)
    expect((await seller.payments.findInvoice(invoice.paymentHash))?.state).toBe('open')
  })

  it('of a reader allow blocks and the graph, and no list of holds and no probes', async () => {
    const rights = await connectAs('reader', 'market')
    await expectBlockAccess(rights)
    await expectGraphAccess(rights)
    await expect(rights.lightning.holds.held()).rejects.toThrow(PERMISSION_DENIED)
    const probe = { via: servers().node('seller').pubkey, shortChannelId: '1x1x1', destination: '', amountMsat: 1000n }
    await expect(rights.lightning.graph.probe(probe)).rejects.toThrow(PERMISSION_DENIED)
  })

  it('are written with mode 600 into a folder that is created if necessary, also over an older file', async () => {
    const rights = join(folder, 'new', 'rights')
    const { rpcSocket: socket, certFile, adminMacaroonFile: macaroonFile } = servers().node('market')
    const make = () => bakeMacaroons({ socket, certFile, macaroonFile }, ['reader'], rights)
    const [file = ''] = await make()
    await chmod(file, 0o644)
    expect(await make()).toEqual([join(rights, 'reader.macaroon')])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(findExcessPermissions(readMacaroonPermissions(await readFile(file)), 'reader')).toEqual([])
  })

  it('allow exactly the calls of their role, and excess permissions are detected', async () => {
    for (const role of MACAROON_ROLES) {
      const allowed = readMacaroonPermissions(await bakeMacaroon(admin, role))
      expect(allowed.toSorted()).toEqual(macaroonPermissions[role].map((uri) => `uri:${uri}`).toSorted())
      expect(findExcessPermissions(allowed, role)).toEqual([])
    }
    const all = readMacaroonPermissions(await readFile(servers().node('market').adminMacaroonFile))
    expect(findExcessPermissions(all, 'settlement')).toContain('macaroon:generate')
    expect(() => readMacaroonPermissions(Uint8Array.of(1, 2, 3))).toThrow(RangeError)
  })

  it('allow a restarted process to wait for its earlier probe without sending a second probe', async () => {
    const setHolding = createHtlcInterceptor(servers().node('seller'))
    const seller = lndLightning(connectToNode(servers(), 'seller'))
    const { shortChannelId, peer } =
      (await seller.channels.list()).find(({ isPrivate, state }) => isPrivate && state === 'active') ?? {}
    const probe = {
      via: servers().node('seller').pubkey,
      shortChannelId: shortChannelId ?? '',
      destination: peer ?? '',
      amountMsat: 1000n,
    }
    const pending = async () => (await getPendingPayments({ lnd: admin.lnd() })).payments.length
    await setHolding(true)
    const before = lndLightning(admin).graph.probe(probe)
    await waitForResult('the probe is held', async () => (await pending()) === 1)
    let answers = 0
    const after = lndLightning(connectToNode(servers(), 'market'))
      .graph.probe(probe)
      .finally(() => answers++)
    await servers().mine()
    expect(await pending()).toBe(1)
    expect(answers).toBe(0)
    await setHolding(false)
    expect(await before).toEqual({ reached: true })
    const watcher = (await connectAs('channel-watcher', 'market')).lightning.graph
    expect(await watcher.probe({ ...probe, destination: servers().node('market').pubkey })).toMatchObject({
      reason: 'InvalidOnionHmac',
    })
    expect(await after).toEqual({ reached: true })
  })
})
