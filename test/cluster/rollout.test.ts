import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { audit } from '@penstock/runtime/audit.ts'
import { audited } from '@penstock/standalone/services.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bought, buyerOf, graphql, order, pay, follow } from '../harness/buyer.ts'
import { clusterMissing, startCluster, type TestCluster } from '../harness/cluster.ts'
import { penstock } from '../harness/penstock.ts'
import { type Copy, root } from '../mutants/copy.ts'
import { auditedByUrl } from './audited.ts'
import { nextVersion } from './next-version.ts'

// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)

const REPLICAS = 1
const SERVICES = ['accounts', 'quote', 'matching', 'channel-watcher', 'settlement', 'order', 'gateway'] as const
const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`
const ENDS = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']

const FAILURES = [
  'BUYER_REJECTED',
  'BUYER_FAILED_TO_PAY',
  'SELLER_REJECTED',
  'SELLER_FAILED_TO_OPEN_CHANNEL',
  'INVALID_CHANNEL_OPENING',
]

const folders: string[] = []
let cluster: TestCluster
let next: Copy

beforeAll(async () => {
  if (clusterMissing !== undefined) return
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-rollout-'))
  folders.push(dataDir)
  next = nextVersion()
  cluster = await startCluster(dataDir, {
    replicas: REPLICAS,
    env: {
      // On a slow machine too a seller has to have its turn before the hold runs out.
      PENSTOCK_SIM_BLOCK_SECONDS: '3',
      PENSTOCK_OPEN_WINDOW_SECONDS: '240',
      PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
      PENSTOCK_LEASE_BLOCKS: '4000',
    },
  })
}, 240_000)
afterAll(async () => {
  await cluster?.stop()
  next?.remove()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}, 60_000)

type Buy = {
  readonly liquidity: {
    readonly buy: {
      readonly account: { readonly session_key: string }
      readonly order: { readonly transaction_id: string }
      readonly payment: {
        readonly lightning_invoice: string
        readonly redirect_url: string
        readonly amount: { readonly sats: string }
      }
    } | null
  }
}

/** Buys and pays, asking again where a connection was cut. @returns how often it had to ask again */
async function bought(uri: string): Promise<{ readonly bought: Bought; readonly again: number }> {
  for (let again = 0; ; again++) {
    const answer = await graphql<Buy>(cluster.url, BUY, { input: { connection_uri: uri, usd_cents: '500' } }).catch(
      () => undefined,
    )
    const found = answer?.data?.liquidity.buy
    if (!found) {
      if (again > 40) throw new Error(`nobody sells: ${JSON.stringify(answer)}`)
      await sleep(250)
      continue
    }
    const { lightning_invoice: invoice, redirect_url: page, amount } = found.payment
    const made = { id: found.order.transaction_id, key: found.account.session_key, invoice, page, sats: amount.sats }
    for (let tries = 0; ; tries++) {
      try {
        await pay(cluster, invoice)
        return { bought: made, again }
      } catch (error) {
        if (tries > 40) throw error
        await sleep(250)
      }
    }
  }
}

/** Buys one after the other until it is told to stop. */
function buyers(uri: string) {
  const over = new AbortController()
  const orders: Bought[] = []
  let again = 0
  const buying = (async () => {
    while (!over.signal.aborted) {
      const one = await bought(uri)
      orders.push(one.bought)
      again += one.again
      await sleep(1500)
    }
  })()
  return {
    async end() {
      over.abort()
      await buying
      return { orders, again }
    },
  }
}

/** Follows an order to its end, whatever that is, and wants a channel. */
async function served(one: Bought): Promise<void> {
  const { status } = await follow(cluster, one, [...ENDS, ...FAILURES], 180_000).catch(async (error: unknown) => {
    throw new Error(`${String(error)}; it is ${(await order(cluster, one)).status}`)
  })
  expect(ENDS).toContain(status)
}

const placedBy = async (): Promise<Record<string, number>> => {
  const store = await postgresEventStore({ url: cluster.postgresUrl })
  const releases: Record<string, number> = {}
  for (const { type, data } of await store.readAll('start', 100_000, ['order'])) {
    const name = (JSON.parse(data) as { release?: string }).release ?? 'this' // as the decider wrote it
    if (type === 'OrderPlaced') releases[name] = (releases[name] ?? 0) + 1
  }
  await store.close()
  return releases
}

describe.skipIf(clusterMissing !== undefined)('a release', () => {
  it(
    'is rolled out under running orders: none is lost, and the read model changes when its new version is full',
    { timeout: 480_000 },
    async () => {
      const { uri } = await buyerOf(cluster)
      const before = [await bought(uri), await bought(uri)].map((one) => one.bought)
      const buying = buyers(uri)
      execFileSync(process.execPath, [join(next.folder, 'services/cluster/src/migrate.ts')], {
        env: { ...process.env, PENSTOCK_POSTGRES_URL: cluster.postgresUrl, PENSTOCK_KAFKA_BROKERS: cluster.brokers },
      })
      const toNext = (script: string): string => script.replace(root, next.folder)
      // The gateway in the middle: old and new versions of each service meet old and new ones of the others.
      const roll = (names: readonly string[]) => Promise.all(names.map((name) => cluster.roll(name, toNext)))
      await roll(SERVICES.slice(0, 4))
      await roll(['gateway'])
      await roll(SERVICES.slice(4, 6))
      const { orders, again } = await buying.end()
      console.log(`${orders.length} orders while it was rolled out; ${again} requests were sent again`)
      const late = await bought(uri)
      for (const one of [...before, ...orders, late.bought]) await served(one)
      expect(orders.length).toBeGreaterThan(3)
      const releases = await placedBy()
      expect(releases['this']).toBeGreaterThanOrEqual(before.length)
      expect(releases['next']).toBeGreaterThan(0)
      expect(Object.values(releases).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(
        before.length + orders.length + 1,
      )
    },
  )

  it('was to be compared before, by the url of the store and a password from a file', { timeout: 240_000 }, async () => {
    const { dataDir, postgresUrl } = cluster
    const one = (await bought((await buyerOf(cluster)).uri)).bought
    await served(one)
    const url = new URL(postgresUrl)
    const file = join(dataDir, 'postgres.password')
    writeFileSync(file, url.password, { mode: 0o600 })
    url.password = ''
    const env = { PENSTOCK_POSTGRES_PASSWORD_FILE: file }
    await auditedByUrl({ store: url.href, heads: dataDir, order: one.id, folder: dataDir, env })
    const diff = await penstock(['audit', 'diff', '--against', next.folder, '--store', url.href], env)
    expect(diff).toMatchObject({ code: 0, err: '', answer: { differences: [], failing: [] } })
  })

  it('is taken back: what it wrote is read by the one before', { timeout: 480_000 }, async () => {
    const { uri } = await buyerOf(cluster)
    const buying = buyers(uri)
    await Promise.all(SERVICES.map((name) => cluster.roll(name, (script) => script.replace(next.folder, root))))
    const { orders } = await buying.end()
    for (const one of orders) await served(one)
    expect((await order(cluster, orders[0] ?? (await bought(uri)).bought)).status).toMatch(/VALID|FINISHED/)
    const store = await postgresEventStore({ url: cluster.postgresUrl })
    const audits = await audit(store, audited(), {})
    await store.close()
    expect({ divergences: audits.divergences, balanced: audits.ledger_balanced }).toEqual({ divergences: 0, balanced: true })
    expect(await cluster.operator('GET', '/parked')).toEqual([])
  })
})
