import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { owners } from '@penstock/runtime/owners.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import { metaOf } from '@penstock/runtime/event-codec.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bought, buyerOf, follow, graphql, order, pay } from '../harness/buyer.ts'
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

/** Buys, asking again where a connection was cut or no answer came in time. @returns how often it had to ask again */
async function unpaid(uri: string): Promise<{ readonly bought: Bought; readonly again: number }> {
  for (let again = 0; ; again++) {
    const answer = await graphql<Buy>(cluster.url, BUY, { input: { connection_uri: uri, usd_cents: '500' } }).catch(
      () => undefined,
    )
    const found = answer?.data?.liquidity.buy
    if (found) {
      const { lightning_invoice: invoice, redirect_url: page, amount } = found.payment
      const { transaction_id: id } = found.order
      return { bought: { id, key: found.account.session_key, invoice, page, sats: amount.sats }, again }
    }
    if (again > 40) throw new Error(`nobody sells: ${JSON.stringify(answer)}`)
    await sleep(250)
  }
}

async function paid(one: Bought): Promise<Bought> {
  for (let tries = 0; ; tries++) {
    try {
      await pay(cluster, one.invoice)
      return one
    } catch (error) {
      if (tries > 40) throw error
      await sleep(250)
    }
  }
}

const bought = async (uri: string): Promise<Bought> => paid((await unpaid(uri)).bought)

/**
 * Asks the gateways for something all the time, each time by a connection of its own. One that the system had not handed to
 * the old gateway yet as that closed is cut, and asked again.
 */
function callers() {
  const over = new AbortController()
  const failed: string[] = []
  let [asked, cut] = [0, 0]
  const call = async (): Promise<void> => {
    const headers = { 'content-type': 'application/json', connection: 'close' }
    const answer = await fetch(`${cluster.url}/graphql`, { method: 'POST', headers, body: '{"query":"{ __typename }"}' })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.body?.cancel()
  }
  const calling = (async () => {
    while (!over.signal.aborted) {
      asked += 1
      await call()
        .catch(async (error: unknown) => {
          if (!isCut(error)) throw error
          cut += 1
          await call()
        })
        .catch((error: unknown) => failed.push(inspect(error)))
      await sleep(20)
    }
  })()
  return {
    async end() {
      over.abort()
      await calling
      return { asked, failed, cut }
    },
  }
}

/** By what undici tells of a connection that was closed before it had answered. */
const isCut = (error: unknown): boolean => /ECONNRESET|UND_ERR_SOCKET/.test(inspect(error))

/** Buys one after the other until it is told to stop. */
function buyers(uri: string) {
  const over = new AbortController()
  const orders: Bought[] = []
  let again = 0
  const buying = (async () => {
    while (!over.signal.aborted) {
      const one = await unpaid(uri)
      orders.push(await paid(one.bought))
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

/** Longer than a seller's turn: where one does not come to its turn on a busy machine, the next one serves. */
const SERVED_WITHIN_MS = 330_000

/** Follows an order to its end, whatever that is, and wants a channel. */
async function served(one: Bought): Promise<void> {
  const { status } = await follow(cluster, one, [...ENDS, ...FAILURES], SERVED_WITHIN_MS).catch(async (error: unknown) => {
    throw new Error(`${String(error)}; it is ${(await order(cluster, one)).status}`)
  })
  expect(ENDS).toContain(status)
}

/** What stands in the store about orders and their money. */
async function stored(): Promise<readonly StoredEvent[]> {
  const store = await postgresEventStore({ logs: owners, url: cluster.postgresUrl })
  const events = await store.readAll('start', 100_000, ['order', 'settlement'])
  await store.close()
  return events
}

const ofStream = (events: readonly StoredEvent[], category: string, { id }: Bought): readonly StoredEvent[] =>
  events.filter(({ stream }) => stream === `${category}-${id}`)
const count = (events: readonly StoredEvent[], type: string): number => events.filter((event) => event.type === type).length

/** How many orders were placed in each version of the fact. */
function placedIn(events: readonly StoredEvent[]): Readonly<Record<number, number>> {
  const versions: Record<number, number> = {}
  for (const event of events.filter(({ type }) => type === 'OrderPlaced'))
    versions[metaOf(event).v] = (versions[metaOf(event).v] ?? 0) + 1
  return versions
}

/** By which projections an order's states were hashed one after the other. */
const projections = (events: readonly StoredEvent[], one: Bought): string =>
  ofStream(events, 'order', one)
    .flatMap((event) => metaOf(event).state?.split(':')[0] ?? [])
    .filter((version, index, all) => version !== all[index - 1])
    .join('')

const toNext = (script: string): string => script.replace(root, next.folder)
const toThis = (script: string): string => script
const roll = (names: readonly string[], to: (script: string) => string) =>
  Promise.all(names.map((name) => cluster.roll(name, to)))

const verify = (checkout: string) =>
  penstock<AuditReport>(
    ['audit', 'verify', '--store', cluster.postgresUrl, '--heads', cluster.dataDir, '--key', join(cluster.dataDir, 'audit.key')],
    {},
    checkout,
  )

/** What a service's process tells of messages that it cannot read: its log's line about an order, and its metric. */
async function seenWaiting(name: string, { id }: Bought): Promise<void> {
  const isTold = (line: string): boolean =>
    line.startsWith(`${name}/`) && line.includes(id) && line.includes('waits for a newer version of this process')
  await until(`the log of ${name} tells that order ${id} waits`, () => cluster.lines.some(isTold), 60_000, 100)
  const url = cluster.processes().find((one) => one.name === name)?.healthUrl
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toMatch(/^penstock_newer_messages_tries_total\{[^}]*\} [1-9]/m)
}

/** The channel of a sold order ends. */
async function closed(one: Bought): Promise<void> {
  const named = ofStream(await stored(), 'order', one).findLast(({ type }) => type === 'OutpointNamed')
  const { outpoint } = JSON.parse(named?.data ?? '{}') as { readonly outpoint?: string } // as the decider wrote it
  await cluster.operator('POST', '/sim/close', { outpoint })
  await follow(cluster, one, ['CHANNEL_MONITORING_FINISHED'], 120_000)
}

describe.skipIf(clusterMissing !== undefined)('a release with another version of a fact', () => {
  /** Placed by this release, paid after the next was rolled out, and over after that was taken back. */
  let through: Bought

  it('is compared before, by the url of the store and a password from a file', { timeout: 240_000 }, async () => {
    const { dataDir, postgresUrl } = cluster
    const { uri } = await buyerOf(cluster)
    through = (await unpaid(uri)).bought
    const one = await bought(uri)
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

  it(
    'is rolled out under running orders: none is lost, and the read model changes when its new version is full',
    { timeout: 480_000 },
    async () => {
      const { uri } = await buyerOf(cluster)
      const before = [await bought(uri), await bought(uri)]
      const buying = buyers(uri)
      execFileSync(process.execPath, [join(next.folder, 'services/cluster/src/migrate.ts')], {
        env: {
          ...process.env,
          PENSTOCK_POSTGRES_URL: cluster.postgresUrl,
          PENSTOCK_POSTGRES_ROLES: 'penstock_',
          PENSTOCK_KAFKA_BROKERS: cluster.brokers,
        },
      })
      const calling = callers()
      // Who reads before who writes: old and new processes of each service meet old and new ones of the others.
      await roll(SERVICES.slice(0, 4), toNext)
      await roll(['gateway'], toNext)
      await roll(SERVICES.slice(4, 6), toNext)
      const { orders, again } = await buying.end()
      const { asked, failed, cut } = await calling.end()
      console.log(
        `${orders.length} orders while it was rolled out, ${again} of them asked for again; ${asked} other requests, ${cut} cut`,
      )
      expect(failed).toEqual([])
      expect(cut).toBeLessThanOrEqual(REPLICAS)
      const late = await bought(uri)
      await paid(through)
      for (const one of [...before, ...orders, late, through]) await served(one)
      expect(orders.length).toBeGreaterThan(3)
      const events = await stored()
      const { 1: first = 0, 2: second = 0 } = placedIn(events)
      expect(first).toBeGreaterThanOrEqual(before.length + 2)
      expect(second).toBeGreaterThan(0)
      expect(first + second).toBeGreaterThanOrEqual(before.length + orders.length + 3)
      // Begun by one release, carried on by the other.
      expect(projections(events, through)).toBe('45')
    },
  )

  it(
    'is taken back: what it wrote in its version waits and is seen to wait, all else goes on; then it comes again',
    { timeout: 780_000 },
    async () => {
      const { uri } = await buyerOf(cluster)
      const newer = (await unpaid(uri)).bought
      const buying = buyers(uri)
      await roll(SERVICES, toThis)
      const { orders } = await buying.end()
      // Its money is held by the facts of settlement, which this release can read; the order itself waits.
      await paid(newer)
      const older = await bought(uri)
      await Promise.all([closed(through), seenWaiting('order', newer), seenWaiting('gateway', newer)])
      await expect(order(cluster, newer)).rejects.toThrow('cannot be read just now')
      expect(await cluster.operator('GET', '/parked')).toEqual([])
      const held = await stored()
      expect(count(ofStream(held, 'settlement', newer), 'HoldHeld')).toBe(1)
      expect(count(ofStream(held, 'order', newer), 'PaymentHeld')).toBe(0)
      expect(projections(held, through)).toBe('454')
      // Whoever cannot read a fact says that, and nothing about the facts.
      const { answer: partly } = await verify(root)
      expect(partly.ledger_balanced).toBe(true)
      expect(partly.first?.what).toContain('newer than this version of Penstock')

      await roll(SERVICES, toNext)
      for (const one of [newer, older, ...orders]) await served(one)
      // No seller took an order for gone that only could not be read.
      expect(cluster.lines.filter((line) => line.includes('unknown to the market') || line.includes('Order not found'))).toEqual(
        [],
      )
      const events = await stored()
      for (const one of [newer, older, through, ...orders]) {
        const money = ofStream(events, 'settlement', one)
        expect([count(money, 'HoldSettled'), count(money, 'PayoutSucceeded') <= 1]).toEqual([1, true])
      }
      expect(await verify(next.folder)).toMatchObject({
        code: 0,
        answer: { divergences: 0, ledger_balanced: true, first: null },
      })
      expect(await cluster.operator('GET', '/parked')).toEqual([])
    },
  )
})
