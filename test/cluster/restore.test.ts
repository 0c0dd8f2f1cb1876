import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { AuditReport } from '@penstock/audit/verify.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFold } from '../support/invariants/fold.ts'
import { checkCluster } from '../chaos/cluster/final-checks.ts'
import { readMarketMsat } from '../support/invariants/balances.ts'
import { readNetworkState } from '../support/invariants/network-state.ts'
import {
  setBehaviour,
  type PurchasedOrder,
  buyChannel,
  findBuyer,
  waitForStatus,
  sendGraphql,
  readOrder,
  paySimulatedInvoice,
  getPayment,
  listSimNodes,
} from '../support/market-client.ts'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import { type BaseBackup, createBaseBackup } from './base-backup.ts'
import { BUY_MUTATION } from '../support/market-operations.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

/** The market mines no blocks. The test mines them, and so decides which events happen before and after the backup. */
const env = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0',
  PENSTOCK_OPEN_WINDOW_SECONDS: '900',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_PAYOUT_CONFIRMATIONS: '24',
}
const TIMEOUT_MS = 120_000
const SENT = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']

describe.skipIf(clusterSkipReason !== undefined)('a market that was restored as the guide describes', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-restore-'))
  let cluster: TestCluster
  let backup: BaseBackup
  let beforeMsat: bigint
  const orders: Record<string, PurchasedOrder> = {}
  const hashes: Record<string, string> = {}
  const start = async (extraSettings: Readonly<Record<string, string>> = {}): Promise<void> =>
    void (cluster = await startCluster(dataDir, { replicas: 1, env: { ...env, ...extraSettings } }))
  const mineBlocks = (blocks: number) => cluster.operator('POST', '/sim/mine', { blocks })
  const setSellerBehaviour = async (how: string): Promise<void> => {
    const nodes = await listSimNodes(cluster)
    await Promise.all(nodes.filter(({ role }) => role === 'seller').map(({ alias }) => setBehaviour(cluster, alias, how)))
  }
  const buyUntil = async (name: string, until: readonly string[]): Promise<void> => {
    const one = (orders[name] = await buyChannel(cluster))
    if (until.length === 0) return
    await pay(name)
    await waitForStatus(cluster, one, until, TIMEOUT_MS)
  }
  const pay = async (name: string): Promise<void> => {
    hashes[name] = (await paySimulatedInvoice(cluster, orders[name]?.invoice ?? '')).payment_hash
  }
  const waitForOrderStatus = (name: string, statuses: readonly string[], withinMs = TIMEOUT_MS) =>
    waitForStatus(cluster, orders[name] ?? { id: '', key: '' }, statuses, withinMs)

  /** Mines until the channel is valid. The seller publishes the funding only after the order accepted its outpoint. */
  const mineUntilValid = (name: string) =>
    waitUntil(
      `${name} is valid`,
      async () => {
        await mineBlocks(1)
        return waitForOrderStatus(name, ['VALID_CHANNEL_OPENING'], 1000).catch(() => undefined)
      },
      TIMEOUT_MS,
    )
  const countPublished = (): number =>
    [...readNetworkState(dataDir).channels.values()].filter(({ state }) => state === 'published').length
  const waitForPayouts = (count: number) =>
    waitUntil(`${count} sellers are paid`, () => countPayouts() === count, TIMEOUT_MS, 100)

  beforeAll(async () => {
    if (clusterSkipReason !== undefined) return
    await start()
    beforeMsat = await readMarketMsat(cluster)
    const before = countPublished()
    await buyUntil('finished', SENT)
    await mineUntilValid('finished')
    await mineBlocks(24)
    await waitForPayouts(1)
    await buyUntil('unpaid to its seller', SENT)
    await mineUntilValid('unpaid to its seller')
    await buyUntil('named', SENT)
    await waitUntil('the funding transaction is published', () => countPublished() === before + 3, TIMEOUT_MS, 100)
    await setSellerBehaviour('silent')
    await buyUntil('held', ['WAITING_FOR_CHANNEL_OPEN'])
    await buyUntil('open', [])
    backup = await createBaseBackup(cluster.postgresUrl)

    await pay('open')
    await waitForOrderStatus('open', ['WAITING_FOR_CHANNEL_OPEN'])
    await buyUntil('unknown', ['WAITING_FOR_CHANNEL_OPEN'])
    await mineUntilValid('named')
    await mineBlocks(24)
    await waitForPayouts(3)
    await cluster.stop()
  }, 480_000)
  afterAll(async () => {
    await cluster?.stop()
    backup?.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }, 60_000)
  const countPayouts = (): number => {
    const { payments, marketPubkey } = readNetworkState(dataDir)
    return payments.filter(({ payer, state }) => payer === marketPubkey && state === 'succeeded').length
  }

  it('starts read-only, and logs the differences between its orders and the node', { timeout: 240_000 }, async () => {
    backup.restore()
    await start({ PENSTOCK_KAFKA_PREFIX: 'penstock2.', PENSTOCK_RESTORED: '1' })
    await setSellerBehaviour('ok')
    expect((await readOrder(cluster, orders['named'] ?? { id: '', key: '' })).status).toMatch(/SENT|ON_CHAIN/)
    const { uri } = await findBuyer(cluster)
    const refused = await sendGraphql(cluster.url, BUY_MUTATION, { input: { connection_uri: uri, usd_cents: '500' } })
    expect(refused.errors?.[0]?.message).toMatch(/is being restored/)
    const line = await waitUntil(
      'settlement has compared the orders',
      () => cluster.lines.find((one) => one.includes('the restored orders were compared with the node')),
      TIMEOUT_MS,
      100,
    )
    expect(JSON.parse(line.slice(line.indexOf('{')))).toMatchObject({ orders: 4, differences: 2, lost: 1, strangers: 1 })
    const audited = await cluster.operator<AuditReport>('POST', '/audit/verify', {})
    // The log heads cover facts that the backup lacks.
    expect(audited.divergences).toBeGreaterThan(0)
    renameSync(join(dataDir, 'audit.heads'), join(dataDir, 'audit.heads.before'))
    expect(countPayouts()).toBe(3)
    await cluster.stop()
  })

  it('resumes: open orders end correctly, and no seller is paid twice', { timeout: 480_000 }, async () => {
    await start({ PENSTOCK_KAFKA_PREFIX: 'penstock2.' })
    await buyUntil('new', SENT)
    for (const name of ['named', 'held', 'open', 'new']) await mineUntilValid(name)
    await mineBlocks(24)
    await waitForPayouts(6)
    // A held payment that belongs to no restored order returns to its buyer only when its HTLCs expire.
    await mineBlocks(100)
    await waitUntil(
      'the payment without an order has failed',
      async () => (await getPayment(cluster, hashes['unknown'] ?? '')).state === 'FAILED',
      TIMEOUT_MS,
      250,
    )
    const store = await postgresEventStore({ logs: categoryOwners, url: cluster.postgresUrl })
    const fold = createFold(store)
    const { faults, orders: books } = await checkCluster(cluster, { store, fold, beforeMsat })
    await fold.close()
    const report = await cluster.operator<AuditReport>('POST', '/audit/verify', {})
    expect(report).toMatchObject({ divergences: 0, ledger_balanced: true, log: { signed: true } })
    expect(faults).toEqual([])
    expect(books.flatMap(({ status }) => (status === 'VALID_CHANNEL_OPENING' ? [status] : []))).toHaveLength(6)
    expect(countPayouts()).toBe(6)
  })
})
