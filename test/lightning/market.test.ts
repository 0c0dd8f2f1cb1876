import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bake } from '@penstock/adapters/lnd/bake.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { type Log, openLog } from '@penstock/runtime/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { type Journal, openJournal } from '@penstock/seller-agent/journal.ts'
import { funding } from '@penstock/seller-agent/sale.ts'
import { fund, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { closeChannel } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buy, order, type Seen } from '../harness/buyer.ts'
import { type Product, scratch, spawnProduct, startProduct } from '../harness/product.ts'
import { TERMS } from './hand-seller.ts'
import { connected, network, noLightning } from './servers.ts'

const CHANNEL_SAT = 5_000_000

describe.skipIf(noLightning)('the market on lnd', () => {
  const servers = network({ nodes: ['market', 'buyer', 'seller'] })
  const node = (alias: string) => servers().node(alias)
  const stop = new AbortController()
  let env: Record<string, string>
  let product: Product
  let agent = Promise.resolve()
  let journal: Journal
  const warnings: { readonly text: string; readonly fields: object }[] = []
  const log: Log = { ...openLog('silent'), warn: (fields, text) => void warnings.push({ text, fields }) }
  beforeAll(async () => {
    for (const one of servers().nodes) for (let coin = 0; coin < 3; coin++) await fund(servers(), one, 50_000_000)
    const channels = [
      await openAnnounced(servers(), node('buyer'), node('market'), CHANNEL_SAT),
      await openAnnounced(servers(), node('market'), node('seller'), CHANNEL_SAT),
    ]
    await Promise.all(channels.flatMap((channel) => servers().nodes.map((one) => knowsChannel(one, channel))))
    const folder = scratch()
    const macaroon = join(folder, 'settlement.macaroon')
    await writeFile(macaroon, await bake(connected(servers(), 'market'), 'settlement'))
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
      lightning: lndLightning(connected(servers(), 'seller')),
      journal,
      terms: TERMS,
      clock: systemClock,
      ids: systemIds(),
      log,
      signal: stop.signal,
      pace: { pollMs: 200, watchMs: 1000, concurrency: 8 },
    })
  })
  afterAll(async () => {
    stop.abort()
    await agent.catch(() => undefined)
    await product.stop()
  })

  it('sells a channel: held, opened, proven, settled, and the seller is paid', async () => void (await oneSale()))

  it('goes on with blocks from btcd where it left off', async () => {
    await product.stop()
    const { user, password, port, certFile } = servers().chain
    const btcd = {
      PENSTOCK_BITCOIND_URL: `wss://${user}:${password}@localhost:${port}/ws`,
      PENSTOCK_BITCOIND_CERT_FILE: certFile,
    }
    product = await startProduct(product.dataDir, { ...env, ...btcd, PORT: new URL(product.url).port })
    await oneSale()
  })

  it('a seller that closes what it sold is told so by its agent, and the market sees the end of the lease', async () => {
    const { id, status } = await oneSale()
    const sale = await until('the sale is over', async () => {
      const now = journal.find(id)
      return now?.ended && now
    })
    const { outpoint } = funding(sale)
    const [transaction_id = '', vout] = outpoint.split(':')
    await closeChannel({ lnd: node('seller').lnd, transaction_id, transaction_vout: Number(vout), is_force_close: true })
    const closed = await until('it is in the journal', async () => {
      await servers().mine()
      return journal.find(id)?.closed ?? undefined
    })
    expect(closed).toMatchObject({ how: 'force', by: 'us', early: true })
    expect(warnings.filter(({ text }) => /this node closed a channel that it sold before its lease ended/.test(text))).toEqual([
      expect.objectContaining({
        fields: expect.objectContaining({ order: id, outpoint, closingTxid: closed.closingTxid }) as unknown,
      }),
    ])
    await until('the market has it', async () => (await status()).status === 'CHANNEL_MONITORING_FINISHED')
  })

  type Sold = { readonly id: string; readonly status: () => Promise<Seen> }

  async function oneSale(): Promise<Sold> {
    const buyer = lndLightning(connected(servers(), 'buyer'))
    const uri = `${node('buyer').pubkey}@${node('buyer').socket}`
    // On a busy machine an agent takes its time to begin.
    const bought = await until('it is sold', () => buy(product, { connection_uri: uri }), 90_000)
    expect(await buyer.payments.pay(bought.invoice, { maxFeeMsat: 100_000n, timeoutMs: 1000 })).toEqual({ state: 'in-flight' })
    const status = async () => (await order(product, bought)).status
    const named = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']
    await until('the funding is named', async () => named.includes(await status()))
    for (let block = 0; block < 12 && (await status()) !== 'VALID_CHANNEL_OPENING'; block++) {
      await servers().mine()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    await until('it is proven and settled', async () => (await status()) === 'VALID_CHANNEL_OPENING')
    expect((await buyer.channels.list()).some(({ peer, openedByUs }) => peer === node('seller').pubkey && !openedByUs)).toBe(true)
    await servers().mine(6)
    const told = async () => JSON.stringify(await product.operator('GET', `/orders/${bought.id}`))
    await until('the seller is paid', async () => (await told()).includes('"PayoutSucceeded"'))
    return { id: (await order(product, bought)).id, status: () => order(product, bought) }
  }

  it('refuses a node of another network, and a macaroon that allows too much', async () => {
    const refused = async (change: Record<string, string>): Promise<string> => {
      const starting = spawnProduct(scratch(), { ...env, ...change })
      const said = await starting.ready.then(
        () => 'it started',
        (error: unknown) => String(error),
      )
      await starting.kill()
      return said
    }
    expect(await refused({ PENSTOCK_NETWORK: 'signet' })).toMatch(/lnd market is on regtest, and PENSTOCK_NETWORK is signet/)
    expect(await refused({ PENSTOCK_NETWORK: 'signet', PENSTOCK_LND_MACAROON_FILE: node('market').adminMacaroonFile })).toMatch(
      /allows what settlement never does/,
    )
    expect(await refused({ PENSTOCK_LND_CERT_FILE: '' })).toMatch(/PENSTOCK_LND_CERT_FILE is not set/)
  })
})
