import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bakeMacaroon } from '@penstock/adapters/lnd/bake-macaroon.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Invoice, Lightning, PaymentState } from '@penstock/ports/lightning.ts'
import { fundNode, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { afterAll, beforeAll } from 'vitest'
import { type PurchasedOrder, buyChannel, readOrder, type OrderSnapshot } from '../support/market-client.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { readMetrics } from '../observability/metrics.ts'
import { connectToNode, useLightningServers } from './servers.ts'

const COIN_SAT = 20_000_000
/** Number of coins per node. Every opening uses one coin until the opening is confirmed. */
const COIN_COUNT = 12
const CHANNEL_SAT = 5_000_000
/** After this number of blocks, each wait is longer, so that a slow market can change the status before the next block. */
const FAST_BLOCKS = 2
const MAX_BLOCKS = 12
const AGENT_START_TIMEOUT_MS = 90_000

type EnvironmentPlan = {
  /** The aliases of the sellers' nodes. The market and the buyer have a node too. */
  readonly sellers: readonly string[]
  /** The node between the market and a seller, by seller. Every other seller has a channel with the market. */
  readonly hops?: Readonly<Record<string, string>>
  /** Further nodes with coins and a channel to the market. */
  readonly buyers?: readonly string[]
  readonly args?: Readonly<Record<string, readonly string[]>>
  readonly env?: Readonly<Record<string, string>>
  /** Whether the market reads blocks and the mempool from btcd. Otherwise it reads only blocks, from lnd. */
  readonly btcd: boolean
}

export type LightningPurchase = PurchasedOrder & { readonly paymentHash: string }

export type LightningEnvironment = {
  readonly servers: LightningServers
  readonly product: Product
  /** The settings of the market's process. */
  readonly settings: Readonly<Record<string, string>>
  /** Returns the Lightning port of a node, which stays valid after restarts. */
  readonly lightning: (alias: string) => Lightning
  readonly buy: (input?: object, buyer?: string) => Promise<LightningPurchase>
  /** Pays the invoice of a purchase, and waits until the market holds the payment. */
  readonly payUntilHeld: (purchase: LightningPurchase, buyer?: string) => Promise<Invoice>
  readonly readOrder: (purchase: LightningPurchase) => Promise<OrderSnapshot>
  readonly waitForStatus: (purchase: LightningPurchase, ...statuses: readonly string[]) => Promise<string>
  /** Mines block by block, with time for the market to check each, until the order has one of these statuses. */
  readonly mineUntil: (purchase: LightningPurchase, ...statuses: readonly string[]) => Promise<string>
  /** Reads the history of the order as an operator does, in JSON. */
  readonly readHistory: (purchase: LightningPurchase) => Promise<string>
  /** Mines, and resolves when the market's guard has finished a round after that. */
  readonly mineAndWaitForGuard: (mine: () => Promise<unknown>) => Promise<void>
  readonly waitForPayment: (purchase: LightningPurchase, state: PaymentState['state'], buyer?: string) => Promise<PaymentState>
  /** Kills the market's process and restarts it on the same port. The settings apply until the next restart. */
  readonly restartMarket: (meanwhile: () => Promise<void>, settings?: Readonly<Record<string, string>>) => Promise<void>
}

/** Starts a market on lnd for the tests of one file, with channels from buyers and to sellers, but without an offer. */
export function useLightningEnvironment(plan: EnvironmentPlan): () => LightningEnvironment {
  const buyers = ['buyer', ...(plan.buyers ?? [])]
  const nodes = ['market', ...buyers, ...plan.sellers, ...Object.values(plan.hops ?? {})]
  const servers = useLightningServers({ nodes, ...(plan.args && { args: plan.args }) })
  let environment: LightningEnvironment | undefined
  let end: () => Promise<unknown> = () => Promise.resolve()
  beforeAll(async () => {
    const opened = await openEnvironment(servers(), plan, buyers)
    environment = opened
    end = () => opened.product.stop()
  })
  afterAll(() => end())
  return () => {
    if (!environment) throw new Error('the market was not started')
    return environment
  }
}

async function openEnvironment(
  servers: LightningServers,
  { sellers, hops = {}, env, btcd }: EnvironmentPlan,
  buyers: readonly string[],
): Promise<LightningEnvironment> {
  for (const node of servers.nodes) await fundNode(servers, node, COIN_SAT, COIN_COUNT)
  const [market, openChannel] = [servers.node('market'), openAnnouncedChannel]
  const channels: string[] = []
  for (const alias of buyers) channels.push(await openChannel(servers, servers.node(alias), market, CHANNEL_SAT))
  for (const alias of sellers) {
    const hop = hops[alias] === undefined ? undefined : servers.node(hops[alias])
    if (hop) channels.push(await openChannel(servers, market, hop, CHANNEL_SAT))
    channels.push(await openChannel(servers, hop ?? market, servers.node(alias), CHANNEL_SAT))
  }
  await Promise.all(channels.flatMap((channel) => servers.nodes.map((node) => waitUntilInGraph(node, channel))))
  const folder = makeTempFolder()
  const baseSettings = { ...(await createMarketSettings(servers, folder, btcd)), ...env }
  // The restarted market must have the same port.
  const settings = { ...baseSettings, PORT: `${await findFreePort()}` }
  let product = await startProduct(join(folder, 'data'), settings)
  return createEnvironment(servers, {
    getProduct: () => product,
    settings,
    async restart(meanwhile, extraSettings = {}) {
      await product.kill()
      try {
        await meanwhile()
      } finally {
        product = await startProduct(product.dataDir, { ...settings, ...extraSettings })
      }
    },
  })
}

async function createMarketSettings(servers: LightningServers, folder: string, btcd: boolean): Promise<Record<string, string>> {
  const { rpcSocket, certFile } = servers.node('market')
  const macaroon = join(folder, 'settlement.macaroon')
  await writeFile(macaroon, await bakeMacaroon(connectToNode(servers, 'market'), 'settlement'))
  const { user, password, port, certFile: btcdCert } = servers.chain
  return {
    PENSTOCK_LIGHTNING: 'lnd',
    PENSTOCK_LND_SOCKET: rpcSocket,
    PENSTOCK_LND_CERT_FILE: certFile,
    PENSTOCK_LND_MACAROON_FILE: macaroon,
    PENSTOCK_OPEN_WINDOW_SECONDS: '600',
    ...(btcd && {
      PENSTOCK_BITCOIND_URL: `wss://${user}:${password}@localhost:${port}/ws`,
      PENSTOCK_BITCOIND_CERT_FILE: btcdCert,
    }),
  }
}

async function mineAndWaitForGuard({ chain }: LightningServers, product: Product, mine: () => Promise<unknown>): Promise<void> {
  const since = Date.now() / 1000
  await mine()
  const height = await chain.rpc<number>('getblockcount')
  const readMetric = async (name: string): Promise<number> => (await readMetrics(product)).max({ name })
  await waitForResult('the market has the block', async () => (await readMetric('penstock_chain_tip_height')) >= height)
  await waitForResult(
    'the guard has finished a round',
    async () => (await readMetric('penstock_guard_last_round_timestamp_seconds')) > since,
  )
}

async function buyForNode(getProduct: () => Product, { pubkey, socket }: LndNode, input: object): Promise<LightningPurchase> {
  // The timeout is long, because an agent starts slowly on a busy machine.
  const boughtOrder = await waitForResult(
    'the order is placed',
    () => buyChannel(getProduct(), { connection_uri: `${pubkey}@${socket}`, ...input }),
    AGENT_START_TIMEOUT_MS,
  )
  return { ...boughtOrder, paymentHash: decodePaymentRequest(boughtOrder.invoice)?.paymentHash ?? '' }
}

type MarketProcess = {
  readonly getProduct: () => Product
  readonly settings: LightningEnvironment['settings']
  readonly restart: LightningEnvironment['restartMarket']
}

function createEnvironment(servers: LightningServers, { getProduct, settings, restart }: MarketProcess): LightningEnvironment {
  const nodes = new Map<string, Lightning>()
  const lightning = (alias: string): Lightning => {
    const node = nodes.get(alias) ?? lndLightning(connectToNode(servers, alias))
    nodes.set(alias, node)
    return node
  }
  const readOrderNow = (purchase: LightningPurchase): Promise<OrderSnapshot> => readOrder(getProduct(), purchase)
  const readHistory = async ({ id }: LightningPurchase): Promise<string> =>
    JSON.stringify(await getProduct().operator('GET', `/orders/${id}`))
  const waitForStatus = (purchase: LightningPurchase, ...statuses: readonly string[]): Promise<string> => {
    let status = ''
    return waitForResult(`the order is ${statuses.join(' or ')}`, async () => {
      ;({ status } = await readOrderNow(purchase))
      return statuses.includes(status) && status
    }).catch(async (error: unknown) => {
      const facts = [...(await readHistory(purchase)).matchAll(/"fact":"(\w+)"/g)].map(([, fact]) => fact)
      throw new Error(`order ${purchase.id} is ${status}: ${facts.join(' ')}\n${getProduct().output().slice(-2000)}`, {
        cause: error,
      })
    })
  }
  return {
    servers,
    get product() {
      return getProduct()
    },
    settings,
    lightning,
    readOrder: readOrderNow,
    waitForStatus,
    restartMarket: restart,
    buy: (input = {}, buyer = 'buyer') => buyForNode(getProduct, servers.node(buyer), input),
    async payUntilHeld(purchase, buyer = 'buyer') {
      await lightning(buyer).payments.pay(purchase.invoice, { maxFeeMsat: 100_000n, timeoutMs: 200 })
      return waitForResult('the payment is held', async () => {
        const invoice = await lightning('market').holds.find(purchase.paymentHash)
        return invoice?.state === 'held' && invoice
      })
    },
    async mineUntil(purchase, ...statuses) {
      for (let block = 0; block < MAX_BLOCKS && !statuses.includes((await readOrderNow(purchase)).status); block++) {
        await servers.mine()
        const timeoutMs = block < FAST_BLOCKS ? 500 : 1500
        await waitForResult('', async () => statuses.includes((await readOrderNow(purchase)).status), timeoutMs).catch(
          () => undefined,
        )
      }
      return waitForStatus(purchase, ...statuses)
    },
    readHistory,
    mineAndWaitForGuard: (mine) => mineAndWaitForGuard(servers, getProduct(), mine),
    waitForPayment: (purchase, state, buyer = 'buyer') =>
      waitForResult(`the buyer's payment is ${state}`, async () => {
        const payment = await lightning(buyer).payments.find(purchase.paymentHash)
        return payment?.state === state && payment
      }),
  }
}
