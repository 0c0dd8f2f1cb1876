import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bake } from '@penstock/adapters/lnd/bake.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Invoice, Lightning, PaymentState } from '@penstock/ports/lightning.ts'
import { fund, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import { afterAll, beforeAll } from 'vitest'
import { type Bought, buy, order, type Seen } from '../harness/buyer.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import { metricsOf } from '../observability/metrics.ts'
import { connected, network } from './servers.ts'

const COIN_SAT = 20_000_000
/** Every opening takes one until it is confirmed. */
const COINS = 12
const CHANNEL_SAT = 5_000_000
/** What needs a few blocks has time to show before the next one, even on a busy machine. */
const QUICK_BLOCKS = 2
const MOST_BLOCKS = 12
const BEGUN_MS = 90_000

type Plan = {
  /** Beside the market and the buyer. */
  readonly sellers: readonly string[]
  /** By seller: the node that is between the market and it; others have a channel with the market. */
  readonly hops?: Readonly<Record<string, string>>
  /** Other nodes, with coins and a channel to the market. */
  readonly buyers?: readonly string[]
  readonly args?: Readonly<Record<string, readonly string[]>>
  readonly env?: Readonly<Record<string, string>>
  /** Whether blocks come from btcd, whose mempool the market then sees; else from lnd. */
  readonly btcd: boolean
}

export type Deal = Bought & { readonly paymentHash: string }

export type Exchange = {
  readonly servers: LightningServers
  readonly product: Product
  /** What the market's process is started with. */
  readonly settings: Readonly<Record<string, string>>
  /** By the node's name; the same one through all restarts. */
  readonly lightning: (alias: string) => Lightning
  readonly deal: (input?: object, buyer?: string) => Promise<Deal>
  /** Pays what a buyer bought, and waits until the market holds it. */
  readonly paid: (deal: Deal, buyer?: string) => Promise<Invoice>
  readonly seen: (deal: Deal) => Promise<Seen>
  readonly reaches: (deal: Deal, ...statuses: readonly string[]) => Promise<string>
  /** One block after the other, none before the last was looked at, until the order has one of these statuses. */
  readonly mineUntil: (deal: Deal, ...statuses: readonly string[]) => Promise<string>
  /** What happened to the order, as an operator reads it. */
  readonly told: (deal: Deal) => Promise<string>
  /** Makes a block, and returns when the market's guard has ended a round since. */
  readonly guarded: (mine: () => Promise<unknown>) => Promise<void>
  readonly payment: (deal: Deal, state: PaymentState['state'], buyer?: string) => Promise<PaymentState>
  /** Ends the market's process, as kill -9 does; it comes back on the same port, until the next time with these settings too. */
  readonly restartMarket: (meanwhile: () => Promise<void>, settings?: Readonly<Record<string, string>>) => Promise<void>
}

/** A market on lnd for the tests of one file: with channels from the buyers and to the sellers, and nobody who sells yet. */
export function exchange(plan: Plan): () => Exchange {
  const buyers = ['buyer', ...(plan.buyers ?? [])]
  const nodes = ['market', ...buyers, ...plan.sellers, ...Object.values(plan.hops ?? {})]
  const servers = network({ nodes, ...(plan.args && { args: plan.args }) })
  let here: Exchange | undefined
  let end: () => Promise<unknown> = () => Promise.resolve()
  beforeAll(async () => {
    const opened = await openExchange(servers(), plan, buyers)
    here = opened
    end = () => opened.product.stop()
  })
  afterAll(() => end())
  return () => {
    if (!here) throw new Error('the market was not started')
    return here
  }
}

async function openExchange(
  servers: LightningServers,
  { sellers, hops = {}, env, btcd }: Plan,
  buyers: readonly string[],
): Promise<Exchange> {
  for (const node of servers.nodes) await fund(servers, node, COIN_SAT, COINS)
  const [market, open] = [servers.node('market'), openAnnounced]
  const channels: string[] = []
  for (const alias of buyers) channels.push(await open(servers, servers.node(alias), market, CHANNEL_SAT))
  for (const alias of sellers) {
    const hop = hops[alias] === undefined ? undefined : servers.node(hops[alias])
    if (hop) channels.push(await open(servers, market, hop, CHANNEL_SAT))
    channels.push(await open(servers, hop ?? market, servers.node(alias), CHANNEL_SAT))
  }
  await Promise.all(channels.flatMap((channel) => servers.nodes.map((node) => knowsChannel(node, channel))))
  const folder = scratch()
  const own = { ...(await marketSettings(servers, folder, btcd)), ...env }
  // One that nobody takes while it is away.
  const settings = { ...own, PORT: `${await freePort()}` }
  let product = await startProduct(join(folder, 'data'), settings)
  return around(servers, {
    now: () => product,
    settings,
    async restart(meanwhile, change = {}) {
      await product.kill()
      try {
        await meanwhile()
      } finally {
        product = await startProduct(product.dataDir, { ...settings, ...change })
      }
    },
  })
}

async function marketSettings(servers: LightningServers, folder: string, btcd: boolean): Promise<Record<string, string>> {
  const { rpcSocket, certFile } = servers.node('market')
  const macaroon = join(folder, 'settlement.macaroon')
  await writeFile(macaroon, await bake(connected(servers, 'market'), 'settlement'))
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

async function guarded({ chain }: LightningServers, product: Product, mine: () => Promise<unknown>): Promise<void> {
  const since = Date.now() / 1000
  await mine()
  const height = await chain.rpc<number>('getblockcount')
  const figure = async (name: string): Promise<number> => (await metricsOf(product)).max({ name })
  await until('the market has the block', async () => (await figure('penstock_chain_tip_height')) >= height)
  await until('its guard has looked', async () => (await figure('penstock_guard_last_round_timestamp_seconds')) > since)
}

type Running = {
  readonly now: () => Product
  readonly settings: Exchange['settings']
  readonly restart: Exchange['restartMarket']
}

function around(servers: LightningServers, { now, settings, restart }: Running): Exchange {
  const nodes = new Map<string, Lightning>()
  const lightning = (alias: string): Lightning => {
    const node = nodes.get(alias) ?? lndLightning(connected(servers, alias))
    nodes.set(alias, node)
    return node
  }
  const seen = (deal: Deal): Promise<Seen> => order(now(), deal)
  const told = async ({ id }: Deal): Promise<string> => JSON.stringify(await now().operator('GET', `/orders/${id}`))
  const reaches = (deal: Deal, ...statuses: readonly string[]): Promise<string> => {
    let status = ''
    return until(`the order is ${statuses.join(' or ')}`, async () => {
      ;({ status } = await seen(deal))
      return statuses.includes(status) && status
    }).catch(async (error: unknown) => {
      const facts = [...(await told(deal)).matchAll(/"fact":"(\w+)"/g)].map(([, fact]) => fact)
      throw new Error(`order ${deal.id} is ${status}: ${facts.join(' ')}\n${now().output().slice(-2000)}`, { cause: error })
    })
  }
  return {
    servers,
    get product() {
      return now()
    },
    settings,
    lightning,
    seen,
    reaches,
    restartMarket: restart,
    async deal(input = {}, buyer = 'buyer') {
      const { pubkey, socket } = servers.node(buyer)
      // On a busy machine an agent takes its time to begin.
      const bought = await until('it is sold', () => buy(now(), { connection_uri: `${pubkey}@${socket}`, ...input }), BEGUN_MS)
      return { ...bought, paymentHash: decodePaymentRequest(bought.invoice)?.paymentHash ?? '' }
    },
    async paid(deal, buyer = 'buyer') {
      await lightning(buyer).payments.pay(deal.invoice, { maxFeeMsat: 100_000n, timeoutMs: 200 })
      return until('the payment is held', async () => {
        const invoice = await lightning('market').holds.find(deal.paymentHash)
        return invoice?.state === 'held' && invoice
      })
    },
    async mineUntil(deal, ...statuses) {
      for (let block = 0; block < MOST_BLOCKS && !statuses.includes((await seen(deal)).status); block++) {
        await servers.mine()
        const patienceMs = block < QUICK_BLOCKS ? 500 : 1500
        await until('', async () => statuses.includes((await seen(deal)).status), patienceMs).catch(() => undefined)
      }
      return reaches(deal, ...statuses)
    },
    told,
    guarded: (mine) => guarded(servers, now(), mine),
    payment: (deal, state, buyer = 'buyer') =>
      until(`the buyer's payment is ${state}`, async () => {
        const payment = await lightning(buyer).payments.find(deal.paymentHash)
        return payment?.state === state && payment
      }),
  }
}
