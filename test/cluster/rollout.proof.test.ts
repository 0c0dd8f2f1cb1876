import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { orderContract as contract } from '@penstock/contracts/order.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { AuditReport } from '@penstock/audit/verify.ts'
import { readMeta } from '@penstock/runtime/commands/event-codec.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type PurchasedOrder,
  findBuyer,
  waitForStatus,
  sendGraphql,
  readOrder,
  paySimulatedInvoice,
} from '../support/market-client.ts'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import { runPenstock } from '../support/run-penstock.ts'
import { type CheckoutCopy, CHECKOUT_ROOT } from '../mutants/checkout-copy.ts'
import { serviceNames } from '@penstock/standalone/registry.ts'
import { auditByUrl } from './audit-by-url.ts'
import { createNextVersion } from './next-version.ts'
import { runSuccessfullySync } from '../support/processes.ts'
import { PRICED_BUY_MUTATION } from '../support/market-operations.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

const REPLICAS = 1
/** The services that write the new fact. */
const WRITERS = ['settlement', 'order']
/** The version of OrderPlaced that this release writes. The next release writes the version after it. */
const PLACED = contract.facts.OrderPlaced.v
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
let next: CheckoutCopy

beforeAll(async () => {
  if (clusterSkipReason !== undefined) return
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-rollout-'))
  folders.push(dataDir)
  next = createNextVersion()
  cluster = await startCluster(dataDir, {
    replicas: REPLICAS,
    env: {
      // A seller has to finish its attempt before the hold expires, also on a slow machine.
      PENSTOCK_SIM_BLOCK_SECONDS: '3',
      PENSTOCK_OPEN_WINDOW_SECONDS: '240',
      PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
      PENSTOCK_LEASE_BLOCKS: '4000',
    },
  })
}, 600_000)
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

/** Places an order, and retries if the connection was cut or no answer arrived in time. @returns the order and the retries */
async function placeOrder(uri: string): Promise<{ readonly bought: PurchasedOrder; readonly again: number }> {
  for (let attempts = 0; ; attempts++) {
    const answer = await sendGraphql<Buy>(cluster.url, PRICED_BUY_MUTATION, {
      input: { connection_uri: uri, usd_cents: '500' },
    }).catch(() => undefined)
    const purchase = answer?.data?.liquidity.buy
    if (purchase) {
      const { lightning_invoice: invoice, redirect_url: page, amount } = purchase.payment
      const { transaction_id: id } = purchase.order
      return { bought: { id, key: purchase.account.session_key, invoice, page, sats: amount.sats }, again: attempts }
    }
    if (attempts > 40) throw new Error(`no order could be placed: ${JSON.stringify(answer)}`)
    await sleep(250)
  }
}

async function pay(one: PurchasedOrder): Promise<PurchasedOrder> {
  for (let tries = 0; ; tries++) {
    try {
      await paySimulatedInvoice(cluster, one.invoice)
      return one
    } catch (error) {
      if (tries > 40) throw error
      await sleep(250)
    }
  }
}

const buy = async (uri: string): Promise<PurchasedOrder> => pay((await placeOrder(uri)).bought)

/**
 * Sends requests to the gateways all the time, each by a new connection. A gateway that closes cuts the connections that it has
 * not accepted yet. The request is then retried.
 */
function callers() {
  const stop = new AbortController()
  const failed: string[] = []
  let [asked, cut] = [0, 0]
  const call = async (): Promise<void> => {
    const headers = { 'content-type': 'application/json', connection: 'close' }
    const answer = await fetch(`${cluster.url}/graphql`, { method: 'POST', headers, body: '{"query":"{ __typename }"}' })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.body?.cancel()
  }
  const calling = (async () => {
    while (!stop.signal.aborted) {
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
      stop.abort()
      await calling
      return { asked, failed, cut }
    },
  }
}

/** Whether undici reports that the connection was closed before the response. */
const isCut = (error: unknown): boolean => /ECONNRESET|UND_ERR_SOCKET/.test(inspect(error))

/** Places and pays orders one after the other until `end` is called. */
function buyers(uri: string) {
  const stop = new AbortController()
  const orders: PurchasedOrder[] = []
  let attempts = 0
  const buying = (async () => {
    while (!stop.signal.aborted) {
      const one = await placeOrder(uri)
      orders.push(await pay(one.bought))
      attempts += one.again
      await sleep(1500)
    }
  })()
  return {
    async end() {
      stop.abort()
      await buying
      return { orders, again: attempts }
    },
  }
}

/** Longer than one attempt: if an attempt times out on a busy machine, the next seller serves the order. */
const SERVE_TIMEOUT_MS = 330_000

/** Waits for the end of an order, and expects that a channel was sold. */
async function waitUntilServed(one: PurchasedOrder): Promise<void> {
  const { status } = await waitForStatus(cluster, one, [...ENDS, ...FAILURES], SERVE_TIMEOUT_MS).catch(async (error: unknown) => {
    throw new Error(`${String(error)}; it is ${(await readOrder(cluster, one)).status}`)
  })
  expect(ENDS).toContain(status)
}

/** Reads all events of orders and of settlement from the store. */
async function readEvents(): Promise<readonly StoredEvent[]> {
  const store = await postgresEventStore({ logs: categoryOwners, url: cluster.postgresUrl })
  const events = await store.readAll('start', 100_000, ['order', 'settlement'])
  await store.close()
  return events
}

const ofStream = (events: readonly StoredEvent[], category: string, { id }: PurchasedOrder): readonly StoredEvent[] =>
  events.filter(({ stream }) => stream === `${category}-${id}`)
const count = (events: readonly StoredEvent[], type: string): number => events.filter((event) => event.type === type).length

/** Counts the placed orders per version of the fact. */
function countByVersion(events: readonly StoredEvent[]): Readonly<Record<number, number>> {
  const versions: Record<number, number> = {}
  for (const event of events.filter(({ type }) => type === 'OrderPlaced'))
    versions[readMeta(event).v] = (versions[readMeta(event).v] ?? 0) + 1
  return versions
}

/** The versions of the projections that hashed an order's states, without repetitions: `45` means first 4, then 5. */
const projections = (events: readonly StoredEvent[], one: PurchasedOrder): string =>
  ofStream(events, 'order', one)
    .flatMap((event) => readMeta(event).state?.split(':')[0] ?? [])
    .filter((version, index, all) => version !== all[index - 1])
    .join('')

const upgradeTo = (script: string): string => script.replace(CHECKOUT_ROOT, next.folder)
const toThis = (script: string): string => script
const roll = (names: readonly string[], to: (script: string) => string) =>
  Promise.all(names.map((name) => cluster.roll(name, to)))

const verify = (checkout: string) =>
  runPenstock<AuditReport>(
    ['audit', 'verify', '--store', cluster.postgresUrl, '--heads', cluster.dataDir, '--key', join(cluster.dataDir, 'audit.key')],
    {},
    checkout,
  )

/** Waits until a process reports messages that it cannot read: by a log line about the order, and by a metric. */
async function waitUntilBlocked(name: string, { id }: PurchasedOrder): Promise<void> {
  const isReport = (line: string): boolean =>
    line.startsWith(`${name}/`) && line.includes(id) && line.includes('waits for a newer version of this process')
  await waitUntil(`the log of ${name} says that order ${id} waits`, () => cluster.lines.some(isReport), 60_000, 100)
  const url = cluster.processes().find((one) => one.name === name)?.healthUrl
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toMatch(/^penstock_newer_messages_tries_total\{[^}]*\} [1-9]/m)
}

/** Closes the channel of a fulfilled order. */
async function closeChannel(one: PurchasedOrder): Promise<void> {
  const accepted = ofStream(await readEvents(), 'order', one).findLast(({ type }) => type === 'OutpointAccepted')
  const { outpoint } = JSON.parse(accepted?.data ?? '{}') as { readonly outpoint?: string } // as the decider wrote it
  await cluster.operator('POST', '/sim/close', { outpoint })
  await waitForStatus(cluster, one, ['CHANNEL_MONITORING_FINISHED'], 120_000)
}

describe.skipIf(clusterSkipReason !== undefined)('a release with another version of a fact', () => {
  /** An order that spans both releases: placed by this release, paid after the rollout of the next, ended after the rollback. */
  let spanningOrder: PurchasedOrder

  it('passes `audit diff` before the rollout, with the URL of the store and a password file', { timeout: 600_000 }, async () => {
    const { dataDir, postgresUrl } = cluster
    const { uri } = await findBuyer(cluster)
    spanningOrder = (await placeOrder(uri)).bought
    const one = await buy(uri)
    await waitUntilServed(one)
    const url = new URL(postgresUrl)
    const file = join(dataDir, 'postgres.password')
    writeFileSync(file, url.password, { mode: 0o600 })
    url.password = ''
    const env = { PENSTOCK_POSTGRES_PASSWORD_FILE: file }
    await auditByUrl({ store: url.href, heads: dataDir, order: one.id, folder: dataDir, env })
    const diff = await runPenstock(['audit', 'diff', '--against', next.folder, '--store', url.href], env)
    expect(diff).toMatchObject({ code: 0, stderr: '', answer: { differences: [], failing: [] } })
  })

  it(
    'is rolled out while orders run: no order is lost, and the complete new read model replaces the old read model',
    { timeout: 1_500_000 },
    async () => {
      const { uri } = await findBuyer(cluster)
      const before = [await buy(uri), await buy(uri)]
      const buying = buyers(uri)
      runSuccessfullySync(process.execPath, [join(next.folder, 'services/cluster/src/migrate.ts')], {
        env: {
          ...process.env,
          PENSTOCK_POSTGRES_URL: cluster.postgresUrl,
          PENSTOCK_POSTGRES_ROLES: 'penstock_',
          PENSTOCK_KAFKA_BROKERS: cluster.brokers,
        },
      })
      const calling = callers()
      // Readers of the new fact are rolled out before its writers. Old and new processes of all services work together meanwhile.
      await roll(
        serviceNames.filter((name) => name !== 'gateway' && !WRITERS.includes(name)),
        upgradeTo,
      )
      await roll(['gateway'], upgradeTo)
      await roll(WRITERS, upgradeTo)
      const { orders, again: attempts } = await buying.end()
      const { asked, failed, cut } = await calling.end()
      console.log(
        `${orders.length} orders during the rollout, with ${attempts} retries; ${asked} other requests, of which ${cut} were cut`,
      )
      expect(failed).toEqual([])
      expect(cut).toBeLessThanOrEqual(REPLICAS)
      const laterOrder = await buy(uri)
      await pay(spanningOrder)
      for (const one of [...before, ...orders, laterOrder, spanningOrder]) await waitUntilServed(one)
      expect(orders.length).toBeGreaterThan(3)
      const events = await readEvents()
      const { [PLACED]: byThis = 0, [PLACED + 1]: byNext = 0 } = countByVersion(events)
      expect(byThis).toBeGreaterThanOrEqual(before.length + 2)
      expect(byNext).toBeGreaterThan(0)
      expect(byThis + byNext).toBeGreaterThanOrEqual(before.length + orders.length + 3)
      // One release began the order, and the other release continued it.
      expect(projections(events, spanningOrder)).toBe('45')
    },
  )

  it(
    'is rolled back: orders with its newer facts wait and are reported, and other orders continue; then it is rolled out again',
    { timeout: 1_800_000 },
    async () => {
      const { uri } = await findBuyer(cluster)
      const newer = (await placeOrder(uri)).bought
      const buying = buyers(uri)
      await roll(serviceNames, toThis)
      const { orders } = await buying.end()
      // This release can read settlement's facts, so settlement holds the payment. Only the order service waits.
      await pay(newer)
      const older = await buy(uri)
      await Promise.all([closeChannel(spanningOrder), waitUntilBlocked('order', newer), waitUntilBlocked('gateway', newer)])
      await expect(readOrder(cluster, newer)).rejects.toThrow('cannot be read just now')
      expect(await cluster.operator('GET', '/parked')).toEqual([])
      const storedEvents = await readEvents()
      expect(count(ofStream(storedEvents, 'settlement', newer), 'HoldHeld')).toBe(1)
      expect(count(ofStream(storedEvents, 'order', newer), 'PaymentHeld')).toBe(0)
      expect(projections(storedEvents, spanningOrder)).toBe('454')
      // The audit reports a fact that it cannot read, and does not check it.
      const { answer: partly } = await verify(CHECKOUT_ROOT)
      expect(partly.ledger_balanced).toBe(true)
      expect(partly.first?.what).toContain('newer than this version of Penstock')

      await roll(serviceNames, upgradeTo)
      for (const one of [newer, older, ...orders]) await waitUntilServed(one)
      // No seller treated an unreadable order as missing.
      expect(cluster.lines.filter((line) => line.includes('unknown to the market') || line.includes('Order not found'))).toEqual(
        [],
      )
      const events = await readEvents()
      for (const one of [newer, older, spanningOrder, ...orders]) {
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
