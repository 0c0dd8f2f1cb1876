import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Replay } from '@penstock/runtime/audit-replay.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bought, buy, buyerOf, follow, order, pay } from '../harness/buyer.ts'
import { clusterMissing, startCluster, type TestCluster } from '../harness/cluster.ts'

// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)

const ENDS = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
/** The system deals connections to the gateways: with so many, each of two has some. */
const CONNECTIONS = 12
type Lsp = {
  readonly order_id: string
  readonly order_state: string
  readonly payment: { readonly bolt11: { readonly invoice: string } }
}

describe.skipIf(clusterMissing !== undefined)('two gateways at one port, and two of each service', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-gateways-'))
  const keys = join(dataDir, 'mounted')
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startCluster(dataDir, {
      replicas: 2,
      env: {
        PENSTOCK_SIM_BLOCK_SECONDS: '1',
        PENSTOCK_OPEN_WINDOW_SECONDS: '120',
        PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
        PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
        PENSTOCK_KEYRING_DIR: keys,
      },
    })
  }, 240_000)
  afterAll(async () => {
    await cluster.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }, 60_000)

  it('follow an order by page, whichever of them read its facts', { timeout: 180_000 }, async () => {
    const one = await buy(cluster)
    const token = new URL(one.page).pathname
    const events = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => fetch(`${cluster.url}${token}/events`, { headers: { connection: 'close' } })),
    )
    await pay(cluster, one.invoice)
    await follow(cluster, one, ENDS, 120_000)
    const pages = await Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        fetch(`${cluster.url}${token}`, { headers: { connection: 'close' } }).then((response) => response.text()),
      ),
    )
    for (const page of pages) expect(page).toContain('<html')
    const told = await Promise.all(events.map((response) => changesIn(response)))
    for (const changes of told) expect(changes).toBeGreaterThan(2)
  })

  it('answer a mutation although another one read what it did', { timeout: 120_000 }, async () => {
    const orders = await Promise.all(Array.from({ length: CONNECTIONS }, () => buy(cluster)))
    const seen = await Promise.all(orders.map((one) => order(cluster, one)))
    expect(seen.map(({ status }) => status)).toEqual(orders.map(() => 'WAITING_FOR_BUYER_PAYMENT'))
  })

  it('serve wallets by LSPS1', { timeout: 180_000 }, async () => {
    const { pubkey } = await buyerOf(cluster)
    const asked = {
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
    const made = await until(
      'an order is made',
      () => posted<Lsp>(`${base}/create_order`, asked).then((answer) => (answer.order_id ? answer : null)),
      30_000,
      250,
    )
    await pay(cluster, made.payment.bolt11.invoice)
    const state = async () =>
      (await fetch(`${base}/get_order?order_id=${made.order_id}`).then((response) => response.json())) as Lsp // bLIP-51's shape
    await until('it is completed', async () => (await state()).order_state === 'COMPLETED', 120_000, 250)
  })

  it('settle by the key of each hold, while keys are rotated replica by replica', { timeout: 240_000 }, async () => {
    const file = join(keys, 'keyring.json')
    const ring = JSON.parse(readFileSync(file, 'utf8')) as Keyring // settlement has made it
    const before = [await buy(cluster), await buy(cluster)]
    writeFileSync(file, JSON.stringify({ current: 'next', keys: { ...ring.keys, next: randomBytes(32).toString('hex') } }))
    const [first, second] = cluster.processes().filter(({ name }) => name === 'settlement')
    await again(first)
    // Either replica may be asked for a hold; the one that was not restarted yet makes it with the old key.
    const between: Bought[] = []
    for (let uses = ''; uses !== 'next' && between.length < 30; uses = await keyOf(between.at(-1)))
      between.push(await buy(cluster))
    await again(second)
    const after = [await buy(cluster), await buy(cluster)]
    for (const one of before) expect(await keyOf(one)).toBe(ring.current)
    for (const one of [between.at(-1), ...after]) expect(await keyOf(one)).toBe('next')
    const served = [...before, ...between.slice(-2), ...after]
    for (const one of served) await pay(cluster, one.invoice)
    for (const one of served) await follow(cluster, one, ENDS, 120_000)
    expect(existsSync(join(dataDir, 'keyring.json'))).toBe(false)
  })
  const keyOf = async (one: Pick<Bought, 'id'> | undefined): Promise<string> => {
    const { facts } = await cluster.operator<Replay>('GET', `/audit/replay/${one?.id}`)
    const { data } = facts.find(({ stream, fact }) => stream.startsWith('settlement-') && fact === 'HoldIssued') ?? {}
    return (data as { readonly keyId: string } | undefined)?.keyId ?? '' // the contract's own shape
  }
  const again = async (replica: ReturnType<TestCluster['processes']>[number] | undefined): Promise<void> => {
    const pid = replica?.pid ?? 0
    process.kill(pid, 'SIGTERM')
    const isReady = (): Promise<boolean> =>
      fetch(`${replica?.healthUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until(
      'it is there again',
      async () => replica?.pid !== undefined && replica.pid !== pid && (await isReady()),
      60_000,
      100,
    )
  }

  it('carry out what operators ask', { timeout: 120_000 }, async () => {
    const one = await buy(cluster)
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
    expect(rebuilt.map(({ projection }) => projection)).toEqual(['orders', 'market', 'accounts'])
    expect(await order(cluster, one)).toMatchObject({ id: one.id, status: 'WAITING_FOR_BUYER_PAYMENT' })
    await pay(cluster, one.invoice)
    await follow(cluster, one, ENDS, 90_000)
  })
})

type Keyring = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/** How often a page was told that it is old, until the last word or for a moment. */
async function changesIn(response: Response): Promise<number> {
  const reader = response.body?.getReader()
  let text = ''
  for (const end = Date.now() + 5000; reader && Date.now() < end && !text.includes('event: final');) {
    const part = await Promise.race([reader.read(), sleep(500, undefined)])
    if (part?.done === true) break
    if (part?.value) text += Buffer.from(part.value).toString()
  }
  await reader?.cancel().catch(() => undefined)
  return text.split('event: changed').length - 1
}

const posted = async <T>(url: string, body: object): Promise<T> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T // the caller says what it asked for
}
