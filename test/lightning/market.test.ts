import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bakeMacaroon } from '@penstock/adapters/lnd/bake-macaroon.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { type Journal, openJournal } from '@penstock/seller-agent/journal.ts'
import { fundingOf } from '@penstock/seller-agent/sale.ts'
import { fundNode, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { closeChannel } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buyChannel, readOrder, type OrderSnapshot } from '../support/market-client.ts'
import { type Product, makeTempFolder, spawnProduct, startProduct } from '../support/product.ts'
import { MANUAL_SELLER_TERMS } from './manual-seller.ts'
import { connectToNode, useLightningServers, isLightningMissing } from './servers.ts'

const CHANNEL_SAT = 5_000_000

describe.skipIf(isLightningMissing)('the market on lnd', () => {
  const servers = useLightningServers({ nodes: ['market', 'buyer', 'seller'] })
  const node = (alias: string) => servers().node(alias)
  const stop = new AbortController()
  let env: Record<string, string>
  let product: Product
  let agent = Promise.resolve()
  let journal: Journal
  const warnings: { readonly text: string; readonly fields: object }[] = []
  const log: Logger = { ...openLogger('silent'), warn: (fields, text) => void warnings.push({ text, fields }) }
  beforeAll(async () => {
    for (const one of servers().nodes) for (let coin = 0; coin < 3; coin++) await fundNode(servers(), one, 50_000_000)
    const channels = [
      await openAnnouncedChannel(servers(), node('buyer'), node('market'), CHANNEL_SAT),
      await openAnnouncedChannel(servers(), node('market'), node('seller'), CHANNEL_SAT),
    ]
    await Promise.all(channels.flatMap((channel) => servers().nodes.map((one) => waitUntilInGraph(one, channel))))
    const folder = makeTempFolder()
    const macaroon = join(folder, 'settlement.macaroon')
    await writeFile(macaroon, await bakeMacaroon(connectToNode(servers(), 'market'), 'settlement'))
    env = {
      PENSTOCK_LIGHTNING: 'lnd',
      PENSTOCK_LND_SOCKET: node('market').rpcSocket,
      PENSTOCK_LND_CERT_FILE: node('market').certFile,
      PENSTOCK_LND_MACAROON_FILE: macaroon,
      PENSTOCK_OPEN_WINDOW_SECONDS: '600',
    }
    product = await startProduct(join(folder, 'data'), env)
    await product.operator('POST', '/sellers/grant', { pubkey: node('seller').pubkey, reason: 'A test.' })
    journal = openJournal(join(folder, 'agent.db'))
    agent = runSellerAgent({
      url: product.url,
      lightning: lndLightning(connectToNode(servers(), 'seller')),
      journal,
      terms: MANUAL_SELLER_TERMS,
      clock: systemClock,
      ids: systemIds(),
      log,
      signal: stop.signal,
      timings: { pollMs: 200, watchMs: 1000, concurrency: 8 },
    })
  })
  afterAll(async () => {
    stop.abort()
    await agent.catch(() => undefined)
    await product.stop()
  })

  it('sells a channel, from the held payment to the payout', async () => void (await sellChannel()))

  it('continues with blocks from btcd after a restart', async () => {
    await product.stop()
    const { user, password, port, certFile } = servers().chain
    const btcd = {
      PENSTOCK_BITCOIND_URL: `wss://${user}:${password}@localhost:${port}/ws`,
      PENSTOCK_BITCOIND_CERT_FILE: certFile,
    }
    product = await startProduct(product.dataDir, { ...env, ...btcd, PORT: new URL(product.url).port })
    await sellChannel()
  })

  it('records the end of the lease if the seller closes the channel early, and the agent logs a warning', async () => {
    const { id, status } = await sellChannel()
    const sale = await waitForResult('the sale has ended', async () => {
      const now = journal.findSale(id)
      return now?.hasEnded && now
    })
    const { outpoint } = fundingOf(sale)
    const [transaction_id = '', vout] = outpoint.split(':')
    await closeChannel({ lnd: node('seller').lnd, transaction_id, transaction_vout: Number(vout), is_force_close: true })
    const closed = await waitForResult('the journal contains the close', async () => {
      await servers().mine()
      return journal.findSale(id)?.channelEnd ?? undefined
    })
    expect(closed).toMatchObject({ how: 'force', by: 'us', early: true })
    expect(warnings.filter(({ text }) => /this node closed a channel that it sold before its lease ended/.test(text))).toEqual([
      expect.objectContaining({
        fields: expect.objectContaining({ order: id, outpoint, closingTxid: closed.closingTxid }) as unknown,
      }),
    ])
    await waitForResult('the market records the close', async () => (await status()).status === 'CHANNEL_MONITORING_FINISHED')
  })

  type CompletedSale = { readonly id: string; readonly status: () => Promise<OrderSnapshot> }

  async function sellChannel(): Promise<CompletedSale> {
    const buyer = lndLightning(connectToNode(servers(), 'buyer'))
    const uri = `${node('buyer').pubkey}@${node('buyer').socket}`
    // The timeout is long, because an agent starts slowly on a busy machine.
    const purchase = await waitForResult('the order is placed', () => buyChannel(product, { connection_uri: uri }), 90_000)
    expect(await buyer.payments.pay(purchase.invoice, { maxFeeMsat: 100_000n, timeoutMs: 1000 })).toEqual({ state: 'in-flight' })
    const status = async () => (await readOrder(product, purchase)).status
    const openStatuses = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']
    await waitForResult('the outpoint is accepted', async () => openStatuses.includes(await status()))
    for (let block = 0; block < 12 && (await status()) !== 'VALID_CHANNEL_OPENING'; block++) {
      await servers().mine()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    await waitForResult('the hold is settled', async () => (await status()) === 'VALID_CHANNEL_OPENING')
    expect((await buyer.channels.list()).some(({ peer, openedByUs }) => peer === node('seller').pubkey && !openedByUs)).toBe(true)
    await servers().mine(6)
    const readHistory = async () => JSON.stringify(await product.operator('GET', `/orders/${purchase.id}`))
    await waitForResult('the seller is paid', async () => (await readHistory()).includes('"PayoutSucceeded"'))
    return { id: (await readOrder(product, purchase)).id, status: () => readOrder(product, purchase) }
  }

  it('does not start with a node of another network, or with a macaroon that allows too much', async () => {
    const startWith = async (change: Record<string, string>): Promise<string> => {
      const starting = spawnProduct(makeTempFolder(), { ...env, ...change })
      const startOutput = await starting.ready.then(
        () => 'it started',
        (error: unknown) => String(error),
      )
      await starting.kill()
      return startOutput
    }
    expect(await startWith({ PENSTOCK_NETWORK: 'signet' })).toMatch(/lnd market is on regtest, and PENSTOCK_NETWORK is signet/)
    expect(await startWith({ PENSTOCK_NETWORK: 'signet', PENSTOCK_LND_MACAROON_FILE: node('market').adminMacaroonFile })).toMatch(
      /has permissions that settlement does not need/,
    )
    expect(await startWith({ PENSTOCK_LND_CERT_FILE: '' })).toMatch(/PENSTOCK_LND_CERT_FILE is not set/)
  })
})
