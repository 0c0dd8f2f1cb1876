import { join } from 'node:path'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import { fund, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { getInvoices } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buy, order } from '../harness/buyer.ts'
import { clusterMissing, startCluster, type TestCluster } from '../harness/cluster.ts'
import { penstock } from '../harness/penstock.ts'
import { scratch } from '../harness/product.ts'
import { TERMS } from './hand-seller.ts'
import { connected, network, noLightning } from './servers.ts'

// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)
if (clusterMissing !== undefined) console.log(`The cluster on lnd is skipped. ${clusterMissing}`)

const CHANNEL_SAT = 5_000_000
const MOST_BLOCKS = 12

/** Every service is a process of its own, with a macaroon that allows what its role does and nothing else. */
describe.skipIf(noLightning || clusterMissing !== undefined)('a cluster on lnd', () => {
  const servers = network({ nodes: ['market', 'buyer', 'seller'] })
  const node = (alias: string) => servers().node(alias)
  const stop = new AbortController()
  let cluster: TestCluster
  let agent = Promise.resolve()
  beforeAll(async () => {
    const folder = scratch()
    const env = await settings(join(folder, 'rights'))
    const starting = startCluster(join(folder, 'data'), { replicas: 1, env })
    const both = await Promise.allSettled([starting.then((one) => (cluster = one)), liquidity()])
    for (const one of both) if (one.status === 'rejected') throw one.reason
    await cluster.operator('POST', '/sellers/grant', { pubkey: node('seller').pubkey, reason: 'A test.' })
    agent = runSellerAgent({
      url: cluster.url,
      lightning: lndLightning(connected(servers(), 'seller')),
      journal: openJournal(join(folder, 'agent.db')),
      terms: TERMS,
      clock: systemClock,
      ids: systemIds(),
      log: openLog('error'),
      signal: stop.signal,
      pace: { pollMs: 200, watchMs: 1000, concurrency: 8 },
    })
  })
  afterAll(async () => {
    stop.abort()
    await agent.catch(() => undefined)
    await cluster?.stop()
  })

  async function liquidity(): Promise<void> {
    for (const one of servers().nodes) await fund(servers(), one, 50_000_000, 3)
    const channels = [
      await openAnnounced(servers(), node('buyer'), node('market'), CHANNEL_SAT),
      await openAnnounced(servers(), node('market'), node('seller'), CHANNEL_SAT),
    ]
    await Promise.all(channels.flatMap((channel) => servers().nodes.map((one) => knowsChannel(one, channel))))
  }

  /** With what an operator's own command bakes. */
  async function settings(rights: string): Promise<Record<string, string>> {
    const { rpcSocket, certFile, adminMacaroonFile } = node('market')
    const roles = ['settlement', 'channel-watcher', 'reader']
    const at = ['--socket', rpcSocket, '--cert', certFile, '--admin', adminMacaroonFile, '--out', rights]
    const baked = await penstock<readonly string[]>(['lnd', 'bake', ...roles, ...at])
    expect(baked).toMatchObject({ code: 0, answer: roles.map((role) => join(rights, `${role}.macaroon`)) })
    return {
      PENSTOCK_LIGHTNING: 'lnd',
      PENSTOCK_NETWORK: 'regtest',
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_DIR: rights,
      PENSTOCK_OPEN_WINDOW_SECONDS: '600',
    }
  }

  it('runs the services, and neither a network of its own nor people', () => {
    const names = new Set(cluster.processes().map(({ name }) => name))
    for (const name of ['settlement', 'channel-watcher', 'quote', 'matching', 'order', 'gateway']) expect(names).toContain(name)
    for (const name of ['simnet', 'neighbours']) expect(names).not.toContain(name)
  })

  it('sells a channel although settlement is killed while the payment is held, and the seller is paid', async () => {
    const [buyer, market] = ['buyer', 'market'].map((alias) => lndLightning(connected(servers(), alias)))
    const uri = `${node('buyer').pubkey}@${node('buyer').socket}`
    // On a busy machine an agent takes its time to begin.
    const bought = await until('it is sold', () => buy(cluster, { connection_uri: uri }), 90_000)
    const paymentHash = decodePaymentRequest(bought.invoice)?.paymentHash ?? ''
    await buyer?.payments.pay(bought.invoice, { maxFeeMsat: 100_000n, timeoutMs: 200 })
    const hold = async () => (await market?.holds.find(paymentHash))?.state
    await until('the payment is held', async () => (await hold()) === 'held')
    await killSettlement()
    expect(await hold()).toBe('held')
    const status = async () => (await order(cluster, bought)).status
    const isNamed = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']
    await until('the funding is named', async () => isNamed.includes(await status()))
    const isProven = async () => (await status()) === 'VALID_CHANNEL_OPENING'
    for (let block = 0; block < MOST_BLOCKS && !(await isProven()); block++) {
      await servers().mine()
      await until('', isProven, 1000).catch(() => undefined)
    }
    await until('it is proven and settled', isProven)
    expect(await hold()).toBe('settled')
    await until('the payer knows', async () => (await buyer?.payments.find(paymentHash))?.state === 'succeeded')
    const open = (await buyer?.channels.list()) ?? []
    expect(open.some(({ peer, openedByUs }) => peer === node('seller').pubkey && !openedByUs)).toBe(true)
    // At six confirmations.
    await servers().mine(6)
    await until('the seller is paid', async () => {
      const { invoices } = await getInvoices({ lnd: node('seller').lnd })
      return invoices.some(({ is_confirmed }) => is_confirmed)
    })
    expect(await cluster.operator('GET', '/parked')).toEqual([])
    // Nobody else ended, and nobody asked lnd for what his macaroon does not allow.
    expect(cluster.lines.filter((line) => /it is started again/.test(line))).toEqual([
      'settlement/1  ended with SIGKILL; it is started again',
    ])
    expect(cluster.lines.filter((line) => /does not allow/.test(line))).toEqual([])
  })

  /** @returns when another one takes work */
  async function killSettlement(): Promise<void> {
    const now = () => cluster.processes().find(({ name }) => name === 'settlement')
    const pid = now()?.pid ?? 0
    process.kill(pid, 'SIGKILL')
    await until('another settlement is ready', async () => {
      const { pid: next = pid, healthUrl } = now() ?? {}
      return next !== pid && (await fetch(`${healthUrl}/readyz`)).ok
    })
  }
})
