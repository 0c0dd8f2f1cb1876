import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { owners } from '@penstock/runtime/owners.ts'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { foldOver } from '../faults/fold.ts'
import { lookAtCluster } from '../faults/cluster/look.ts'
import { marketMsat } from '../faults/look.ts'
import { truthOf } from '../faults/truth.ts'
import { behave, type Bought, buy, buyerOf, follow, graphql, order, pay, payment, simNodes } from '../harness/buyer.ts'
import { clusterMissing, startCluster, type TestCluster } from '../harness/cluster.ts'
import { type Backup, baseBackup } from './base-backup.ts'

// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)

/** Blocks are made by hand: what happens before the copy and what after it is for the test to say. */
const env = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0',
  PENSTOCK_OPEN_WINDOW_SECONDS: '900',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_PAYOUT_CONFIRMATIONS: '24',
}
const PATIENCE_MS = 120_000
const SENT = ['SELLER_SENT_TRANSACTION', 'WAITING_FOR_ON_CHAIN_CONFIRMATION']

describe.skipIf(clusterMissing !== undefined)('a restore as the guide says', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-restore-'))
  let cluster: TestCluster
  let backup: Backup
  let beforeMsat: bigint
  const orders: Record<string, Bought> = {}
  const hashes: Record<string, string> = {}
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> =>
    void (cluster = await startCluster(dataDir, { replicas: 1, env: { ...env, ...more } }))
  const mine = (blocks: number) => cluster.operator('POST', '/sim/mine', { blocks })
  const sellers = async (how: string): Promise<void> => {
    const nodes = await simNodes(cluster)
    await Promise.all(nodes.filter(({ role }) => role === 'seller').map(({ alias }) => behave(cluster, alias, how)))
  }
  const bought = async (name: string, until: readonly string[]): Promise<void> => {
    const one = (orders[name] = await buy(cluster))
    if (until.length === 0) return
    await paid(name)
    await follow(cluster, one, until, PATIENCE_MS)
  }
  const paid = async (name: string): Promise<void> => {
    hashes[name] = (await pay(cluster, orders[name]?.invoice ?? '')).payment_hash
  }
  const reaches = (name: string, statuses: readonly string[], withinMs = PATIENCE_MS) =>
    follow(cluster, orders[name] ?? { id: '', key: '' }, statuses, withinMs)

  /** A funding that was named is sent a moment later: it confirms in whichever block comes then. */
  const confirmed = (name: string) =>
    until(
      `${name} is valid`,
      async () => {
        await mine(1)
        return reaches(name, ['VALID_CHANNEL_OPENING'], 1000).catch(() => undefined)
      },
      PATIENCE_MS,
    )
  const published = (): number => [...truthOf(dataDir).channels.values()].filter(({ state }) => state === 'published').length
  const paidOut = (count: number) => until(`${count} sellers are paid`, () => payouts() === count, PATIENCE_MS, 100)

  beforeAll(async () => {
    if (clusterMissing !== undefined) return
    await start()
    beforeMsat = await marketMsat(cluster)
    const before = published()
    await bought('finished', SENT)
    await confirmed('finished')
    await mine(24)
    await paidOut(1)
    await bought('unpaid to its seller', SENT)
    await confirmed('unpaid to its seller')
    await bought('named', SENT)
    await until('its funding is sent', () => published() === before + 3, PATIENCE_MS, 100)
    await sellers('silent')
    await bought('held', ['WAITING_FOR_CHANNEL_OPEN'])
    await bought('open', [])
    backup = await baseBackup(cluster.postgresUrl)

    await paid('open')
    await reaches('open', ['WAITING_FOR_CHANNEL_OPEN'])
    await bought('unknown', ['WAITING_FOR_CHANNEL_OPEN'])
    await confirmed('named')
    await mine(24)
    await paidOut(3)
    await cluster.stop()
  }, 480_000)
  afterAll(async () => {
    await cluster?.stop()
    backup?.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }, 60_000)
  const payouts = (): number => {
    const { payments, market } = truthOf(dataDir)
    return payments.filter(({ payer, state }) => payer === market && state === 'succeeded').length
  }

  it('begins read-only, and tells what the node knows more', { timeout: 240_000 }, async () => {
    backup.restore()
    await start({ PENSTOCK_KAFKA_PREFIX: 'penstock2.', PENSTOCK_RESTORED: '1' })
    await sellers('ok')
    expect((await order(cluster, orders['named'] ?? { id: '', key: '' })).status).toMatch(/SENT|ON_CHAIN/)
    const { uri } = await buyerOf(cluster)
    const BUY = 'mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
    const refused = await graphql(cluster.url, BUY, { input: { connection_uri: uri, usd_cents: '500' } })
    expect(refused.errors?.[0]?.message).toMatch(/is being restored/)
    const line = await until(
      'settlement has compared the orders',
      () => cluster.lines.find((one) => one.includes('the restored orders were compared with the node')),
      PATIENCE_MS,
      100,
    )
    expect(JSON.parse(line.slice(line.indexOf('{')))).toMatchObject({ orders: 4, differences: 2, lost: 1, strangers: 1 })
    const audited = await cluster.operator<AuditReport>('POST', '/audit/verify', {})
    // The heads know of facts that the copy lacks.
    expect(audited.divergences).toBeGreaterThan(0)
    renameSync(join(dataDir, 'audit.heads'), join(dataDir, 'audit.heads.before'))
    expect(payouts()).toBe(3)
    await cluster.stop()
  })

  it('goes on: open orders end rightly, and nobody is paid twice', { timeout: 480_000 }, async () => {
    await start({ PENSTOCK_KAFKA_PREFIX: 'penstock2.' })
    await bought('new', SENT)
    for (const name of ['named', 'held', 'open', 'new']) await confirmed(name)
    await mine(24)
    await paidOut(6)
    // Nobody's payment goes back to its buyer by itself, before it expires.
    await mine(100)
    await until(
      'it went back',
      async () => (await payment(cluster, hashes['unknown'] ?? '')).state === 'FAILED',
      PATIENCE_MS,
      250,
    )
    const store = await postgresEventStore({ logs: owners, url: cluster.postgresUrl })
    const fold = foldOver(store)
    const { faults, books } = await lookAtCluster(cluster, { store, fold, beforeMsat })
    await fold.close()
    const report = await cluster.operator<AuditReport>('POST', '/audit/verify', {})
    expect(report).toMatchObject({ divergences: 0, ledger_balanced: true, log: { signed: true } })
    expect(faults).toEqual([])
    expect(books.flatMap(({ status }) => (status === 'VALID_CHANNEL_OPENING' ? [status] : []))).toHaveLength(6)
    expect(payouts()).toBe(6)
  })
})
