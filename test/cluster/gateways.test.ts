import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OrderReplay } from '@penstock/audit/replay.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type PurchasedOrder,
  buyChannel,
  findBuyer,
  waitForStatus,
  readOrder,
  paySimulatedInvoice,
} from '../support/market-client.ts'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

const ENDS = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
/** The kernel distributes connections among the gateways. With this number, each of the two gateways receives at least one. */
const CONNECTIONS = 12
/** The limit of each wait. On an idle machine, the slowest wait ends after about 20 s. */
const LIMIT_MS = 120_000
/** The least number of changes that the page of a sold order reports. */
const MIN_CHANGES = 3
type LspOrder = {
  readonly order_id: string
  readonly order_state: string
  readonly payment: { readonly bolt11: { readonly invoice: string } }
}

describe.skipIf(clusterSkipReason !== undefined)('a cluster with two gateways at one port and two replicas per service', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-gateways-'))
  const keys = join(dataDir, 'mounted')
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startCluster(dataDir, {
      replicas: 2,
      env: {
        PENSTOCK_SIM_BLOCK_SECONDS: '1',
        // Both replicas of a service issue holds only if the lane of unpaid messages has two partitions.
        PENSTOCK_KAFKA_PARTITIONS: '6',
        PENSTOCK_OPEN_WINDOW_SECONDS: '120',
        PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
        PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
        PENSTOCK_KEYRING_DIR: keys,
      },
    })
  })
  afterAll(async () => {
    await cluster.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('shows the changes of an order on its page, from either gateway', async () => {
    const one = await buyChannel(cluster)
    const token = new URL(one.page).pathname
    const events = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => fetch(`${cluster.url}${token}/events`, { headers: { connection: 'close' } })),
    )
    await paySimulatedInvoice(cluster, one.invoice)
    await waitForStatus(cluster, one, ENDS, LIMIT_MS)
    const pages = await Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        fetch(`${cluster.url}${token}`, { headers: { connection: 'close' } }).then((response) => response.text()),
      ),
    )
    for (const page of pages) expect(page).toContain('<html')
    const received = await Promise.all(events.map((response) => readChanges(response)))
    for (const changes of received) expect(changes).toBeGreaterThanOrEqual(MIN_CHANGES)
  })

  it('answers a mutation even if the other gateway reads the resulting facts first', async () => {
    const orders = await Promise.all(Array.from({ length: CONNECTIONS }, () => buyChannel(cluster)))
    const snapshots = await Promise.all(orders.map((one) => readOrder(cluster, one)))
    expect(snapshots.map(({ status }) => status)).toEqual(orders.map(() => 'WAITING_FOR_BUYER_PAYMENT'))
  })

  it('serves wallets by LSPS1', async () => {
    const { pubkey } = await findBuyer(cluster)
    const request = {
      lsp_balance_sat: '600000',
      client_balance_sat: '0',
      required_channel_confirmations: 3,
      funding_confirms_within_blocks: 40,
      channel_expiry_blocks: 100,
      token: '',
      announce_channel: true,
      public_key: pubkey,
    }
    const base = `${cluster.url}/api/lsp/v1/cheapest`
    const order = await waitUntil(
      'an order is created',
      () => postOrder<LspOrder>(`${base}/create_order`, request).then((answer) => (answer.order_id ? answer : null)),
      LIMIT_MS,
      250,
    )
    await paySimulatedInvoice(cluster, order.payment.bolt11.invoice)
    const state = async () =>
      (await fetch(`${base}/get_order?order_id=${order.order_id}`).then((response) => response.json())) as LspOrder // of bLIP-51
    await waitUntil('the order is completed', async () => (await state()).order_state === 'COMPLETED', LIMIT_MS, 250)
  })

  it('settles each hold with the key that issued it while replicas change keys one by one', async () => {
    const file = join(keys, 'keyring.json')
    const ring = JSON.parse(readFileSync(file, 'utf8')) as Keyring // settlement created it
    const before = [await buyChannel(cluster), await buyChannel(cluster)]
    writeFileSync(file, JSON.stringify({ current: 'next', keys: { ...ring.keys, next: randomBytes(32).toString('hex') } }))
    const [first, second] = cluster.processes().filter(({ name }) => name === 'settlement')
    await restartReplica(first)
    // Either replica may issue a hold. The replica that was not restarted yet still uses the old key.
    const between: PurchasedOrder[] = []
    for (let uses = ''; uses !== 'next' && between.length < 30; uses = await readKey(between.at(-1)))
      between.push(await buyChannel(cluster))
    await restartReplica(second)
    const after = [await buyChannel(cluster), await buyChannel(cluster)]
    for (const one of before) expect(await readKey(one)).toBe(ring.current)
    for (const one of [between.at(-1), ...after]) expect(await readKey(one)).toBe('next')
    const served = [...before, ...between.slice(-2), ...after]
    for (const one of served) await paySimulatedInvoice(cluster, one.invoice)
    for (const one of served) await waitForStatus(cluster, one, ENDS, LIMIT_MS)
    expect(existsSync(join(dataDir, 'keyring.json'))).toBe(false)
  })
  const readKey = async (one: Pick<PurchasedOrder, 'id'> | undefined): Promise<string> => {
    const { facts } = await cluster.operator<OrderReplay>('GET', `/audit/replay/${one?.id}`)
    const { data } = facts.find(({ stream, fact }) => stream.startsWith('settlement-') && fact === 'HoldIssued') ?? {}
    return (data as { readonly keyId: string } | undefined)?.keyId ?? '' // the contract's own shape
  }
  const restartReplica = async (replica: ReturnType<TestCluster['processes']>[number] | undefined): Promise<void> => {
    const pid = replica?.pid ?? 0
    process.kill(pid, 'SIGTERM')
    const isReady = (): Promise<boolean> =>
      fetch(`${replica?.healthUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await waitUntil(
      'the replica is ready again',
      async () => replica?.pid !== undefined && replica.pid !== pid && (await isReady()),
      LIMIT_MS,
      100,
    )
  }

  it('executes the commands of operators', async () => {
    const one = await buyChannel(cluster)
    const shown = await cluster.operator<{ id: string; status: string }>('GET', `/orders/${one.id}`)
    expect(shown).toMatchObject({ id: one.id, status: 'WAITING_FOR_BUYER_PAYMENT' })
    expect(await cluster.operator('POST', '/audit/verify', {})).toMatchObject({ divergences: 0, ledger_balanced: true })
    expect(await cluster.operator('GET', `/audit/replay/${one.id}`)).toBeTruthy()
    expect(await cluster.operator('GET', `/audit/export/${one.id}`)).toBeTruthy()
    expect(await cluster.operator('GET', '/parked')).toEqual([])
    const { rebuilt } = await cluster.operator<{ rebuilt: readonly { projection: string; facts: number }[] }>(
      'POST',
      '/views/rebuild',
      {},
    )
    expect(rebuilt.map(({ projection }) => projection)).toEqual([
      'orders',
      'market',
      'accounts',
      'payments',
      'service keys',
      'webhook endpoints',
    ])
    expect(await readOrder(cluster, one)).toMatchObject({ id: one.id, status: 'WAITING_FOR_BUYER_PAYMENT' })
    await paySimulatedInvoice(cluster, one.invoice)
    await waitForStatus(cluster, one, ENDS, LIMIT_MS)
  })
})

type Keyring = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/** Reads a page's events until they contain enough changes. @returns the number of changes so far */
async function readChanges({ body }: Response): Promise<number> {
  const reader = body?.getReader()
  const timer = setTimeout(() => void reader?.cancel(), LIMIT_MS)
  let text = ''
  const countChanges = (): number => text.split('event: changed').length - 1
  while (reader && countChanges() < MIN_CHANGES) {
    const part = await reader.read()
    if (part.done) break
    text += Buffer.from(part.value).toString()
  }
  clearTimeout(timer)
  await reader?.cancel()
  return countChanges()
}

const postOrder = async <T>(url: string, body: object): Promise<T> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T // the caller states the type of the response
}
