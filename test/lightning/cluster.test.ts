import { join } from 'node:path'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import { fundNode, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { serviceNames } from '@penstock/standalone/registry.ts'
import { getInvoices } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buyChannel, readOrder } from '../support/market-client.ts'
import { isSkipped } from '../support/skip.ts'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import { runPenstock } from '../support/run-penstock.ts'
import { makeTempFolder } from '../support/product.ts'
import { MANUAL_SELLER_TERMS } from './manual-seller.ts'
import { connectToNode, useLightningServers, isLightningMissing } from './servers.ts'

const isClusterMissing = isSkipped('Tests of a cluster on lnd are', clusterSkipReason)

const CHANNEL_SAT = 5_000_000
const MAX_BLOCKS = 12

/** Every service runs in a separate process, with a macaroon that allows only the calls of its role. */
describe.skipIf(isLightningMissing || isClusterMissing)('a cluster on lnd', () => {
  const servers = useLightningServers({ nodes: ['market', 'buyer', 'seller'] })
  const node = (alias: string) => servers().node(alias)
  const stop = new AbortController()
  let cluster: TestCluster
  let agent = Promise.resolve()
  beforeAll(async () => {
    const folder = makeTempFolder()
    const env = await settings(join(folder, 'rights'))
    const starting = startCluster(join(folder, 'data'), { replicas: 1, env })
    const outcomes = await Promise.allSettled([starting.then((one) => (cluster = one)), openChannels()])
    for (const one of outcomes) if (one.status === 'rejected') throw one.reason
    await cluster.operator('POST', '/sellers/grant', { pubkey: node('seller').pubkey, reason: 'A test.' })
    agent = runSellerAgent({
      url: cluster.url,
      lightning: lndLightning(connectToNode(servers(), 'seller')),
      journal: openJournal(join(folder, 'agent.db')),
      terms: MANUAL_SELLER_TERMS,
      clock: systemClock,
      ids: systemIds(),
      log: openLogger('error'),
      signal: stop.signal,
      timings: { pollMs: 200, watchMs: 1000, concurrency: 8 },
    })
  })
  afterAll(async () => {
    stop.abort()
    await agent.catch(() => undefined)
    await cluster?.stop()
  })

  async function openChannels(): Promise<void> {
    for (const one of servers().nodes) await fundNode(servers(), one, 50_000_000, 3)
    const channels = [
      await openAnnouncedChannel(servers(), node('buyer'), node('market'), CHANNEL_SAT),
      await openAnnouncedChannel(servers(), node('market'), node('seller'), CHANNEL_SAT),
    ]
    await Promise.all(channels.flatMap((channel) => servers().nodes.map((one) => waitUntilInGraph(one, channel))))
  }

  /** Bakes the macaroons by the operator's command. @returns the settings that use them */
  async function settings(rights: string): Promise<Record<string, string>> {
    const { rpcSocket, certFile, adminMacaroonFile } = node('market')
    const roles = ['settlement', 'channel-watcher', 'reader']
    const at = ['--socket', rpcSocket, '--cert', certFile, '--admin', adminMacaroonFile, '--out', rights]
    const bakeResult = await runPenstock<readonly string[]>(['lnd', 'bake', ...roles, ...at])
    expect(bakeResult).toMatchObject({ code: 0, answer: roles.map((role) => join(rights, `${role}.macaroon`)) })
    return {
      PENSTOCK_LIGHTNING: 'lnd',
      PENSTOCK_NETWORK: 'regtest',
      PENSTOCK_LND_SOCKET: rpcSocket,
      PENSTOCK_LND_CERT_FILE: certFile,
      PENSTOCK_LND_MACAROON_DIR: rights,
      PENSTOCK_OPEN_WINDOW_SECONDS: '600',
    }
  }

  it('runs the services, and no process for simulated nodes, buyers or sellers', () => {
    const names = new Set(cluster.processes().map(({ name }) => name))
    for (const name of serviceNames) expect(names).toContain(name)
    for (const name of ['simnet', 'neighbours']) expect(names).not.toContain(name)
  })

  it('sells a channel and pays the seller although settlement is killed while the payment is held', async () => {
    const [buyer, market] = ['buyer', 'market'].map((alias) => lndLightning(connectToNode(servers(), alias)))
    const uri = `${node('buyer').pubkey}@${node('buyer').socket}`
    // The timeout is long, because an agent starts slowly on a busy machine.
    const purchase = await waitForResult('the order is placed', () => buyChannel(cluster, { connection_uri: uri }), 90_000)
    const paymentHash = decodePaymentRequest(purchase.invoice)?.paymentHash ?? ''
    await buyer?.payments.pay(purchase.invoice, { maxFeeMsat: 100_000n, timeoutMs: 200 })
    const hold = async () => (await market?.holds.find(paymentHash))?.state
    await waitForResult('the payment is held', async () => (await hold()) === 'held')
    await killSettlement()
    expect(await hold()).toBe('held')
    const status = async () => (await readOrder(cluster, purchase)).status
    const acceptedStatuses = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']
    await waitForResult('the outpoint is accepted', async () => acceptedStatuses.includes(await status()))
    const isProven = async () => (await status()) === 'VALID_CHANNEL_OPENING'
    for (let block = 0; block < MAX_BLOCKS && !(await isProven()); block++) {
      await servers().mine()
      await waitForResult('', isProven, 1000).catch(() => undefined)
    }
    await waitForResult('the channel is proven and the hold is settled', isProven)
    expect(await hold()).toBe('settled')
    await waitForResult('the payment has succeeded', async () => (await buyer?.payments.find(paymentHash))?.state === 'succeeded')
    const open = (await buyer?.channels.list()) ?? []
    expect(open.some(({ peer, openedByUs }) => peer === node('seller').pubkey && !openedByUs)).toBe(true)
    // The payout waits for six confirmations.
    await servers().mine(6)
    await waitForResult('the seller is paid', async () => {
      const { invoices } = await getInvoices({ lnd: node('seller').lnd })
      return invoices.some(({ is_confirmed }) => is_confirmed)
    })
    expect(await cluster.operator('GET', '/parked')).toEqual([])
    // No other process ended, and no process made a call that its macaroon does not allow.
    expect(cluster.lines.filter((line) => /; restarting/.test(line))).toEqual(['settlement/1  ended with SIGKILL; restarting'])
    expect(cluster.lines.filter((line) => /does not allow/.test(line))).toEqual([])
  })

  /** Kills the settlement process. Resolves when its successor is ready. */
  async function killSettlement(): Promise<void> {
    const findSettlement = () => cluster.processes().find(({ name }) => name === 'settlement')
    const pid = findSettlement()?.pid ?? 0
    process.kill(pid, 'SIGKILL')
    await waitForResult('the new settlement process is ready', async () => {
      const { pid: next = pid, healthUrl } = findSettlement() ?? {}
      return next !== pid && (await fetch(`${healthUrl}/readyz`)).ok
    })
  }
})
