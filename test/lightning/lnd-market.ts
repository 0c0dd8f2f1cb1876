import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bakeMacaroon } from '@penstock/adapters/lnd/bake-macaroon.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { type Journal, openJournal } from '@penstock/seller-agent/journal.ts'
import { fundNode, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import { expect } from 'vitest'
import { buyChannel, readOrder, type OrderSnapshot } from '../support/market-client.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { MANUAL_SELLER_TERMS } from './manual-seller.ts'
import { connectToNode } from './servers.ts'

const CHANNEL_SAT = 5_000_000

/** The nodes that `startLndMarket` needs. */
export const LND_MARKET_NODES = ['market', 'buyer', 'seller'] as const

export type LndMarket = {
  /** The market. A restart replaces it. */
  product: Product
  readonly env: Readonly<Record<string, string>>
  readonly journal: Journal
  stop(): Promise<void>
}

/** Starts a market on the lnd `market`, and a seller-agent on the lnd `seller`. The buyer and the seller have channels to it. */
export async function startLndMarket(servers: LightningServers, log: Logger = openLogger('silent')): Promise<LndMarket> {
  const node = (alias: string) => servers.node(alias)
  for (const one of servers.nodes) for (let coin = 0; coin < 3; coin++) await fundNode(servers, one, 50_000_000)
  const channels = [
    await openAnnouncedChannel(servers, node('buyer'), node('market'), CHANNEL_SAT),
    await openAnnouncedChannel(servers, node('market'), node('seller'), CHANNEL_SAT),
  ]
  await Promise.all(channels.flatMap((channel) => servers.nodes.map((one) => waitUntilInGraph(one, channel))))
  const folder = makeTempFolder()
  const macaroon = join(folder, 'settlement.macaroon')
  await writeFile(macaroon, await bakeMacaroon(connectToNode(servers, 'market'), 'settlement'))
  const env = {
    PENSTOCK_LIGHTNING: 'lnd',
    PENSTOCK_LND_SOCKET: node('market').rpcSocket,
    PENSTOCK_LND_CERT_FILE: node('market').certFile,
    PENSTOCK_LND_MACAROON_FILE: macaroon,
    PENSTOCK_OPEN_WINDOW_SECONDS: '600',
  }
  const product = await startProduct(join(folder, 'data'), env)
  await product.operator('POST', '/sellers/grant', { pubkey: node('seller').pubkey, reason: 'A test.' })
  const journal = openJournal(join(folder, 'agent.db'))
  const stop = new AbortController()
  const agent = runSellerAgent({
    url: product.url,
    lightning: lndLightning(connectToNode(servers, 'seller')),
    journal,
    terms: MANUAL_SELLER_TERMS,
    clock: systemClock,
    ids: systemIds(),
    log,
    signal: stop.signal,
    timings: { pollMs: 200, watchMs: 1000, concurrency: 8 },
  })
  const market: LndMarket = {
    product,
    env,
    journal,
    async stop() {
      stop.abort()
      await agent.catch(() => undefined)
      await market.product.stop()
    },
  }
  return market
}

export type CompletedSale = { readonly id: string; readonly status: () => Promise<OrderSnapshot> }

/** Sells one channel, from the held payment to the payout. */
export async function sellChannel(servers: LightningServers, { product }: LndMarket): Promise<CompletedSale> {
  const buyer = lndLightning(connectToNode(servers, 'buyer'))
  const { pubkey, socket } = servers.node('buyer')
  // The timeout is long, because an agent starts slowly on a busy machine.
  const purchase = await waitForResult(
    'the order is placed',
    () => buyChannel(product, { connection_uri: `${pubkey}@${socket}` }),
    240_000,
  )
  expect(await buyer.payments.pay(purchase.invoice, { maxFeeMsat: 100_000n, timeoutMs: 1000 })).toEqual({ state: 'in-flight' })
  const status = async () => (await readOrder(product, purchase)).status
  const openStatuses = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']
  await waitForResult('the outpoint is accepted', async () => openStatuses.includes(await status()))
  for (let block = 0; block < 12 && (await status()) !== 'VALID_CHANNEL_OPENING'; block++) {
    await servers.mine()
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  await waitForResult('the hold is settled', async () => (await status()) === 'VALID_CHANNEL_OPENING')
  const sellerPubkey = servers.node('seller').pubkey
  expect((await buyer.channels.list()).some(({ peer, openedByUs }) => peer === sellerPubkey && !openedByUs)).toBe(true)
  await servers.mine(6)
  const readHistory = async () => JSON.stringify(await product.operator('GET', `/orders/${purchase.id}`))
  await waitForResult('the seller is paid', async () => (await readHistory()).includes('"PayoutSucceeded"'))
  return { id: (await readOrder(product, purchase)).id, status: () => readOrder(product, purchase) }
}
