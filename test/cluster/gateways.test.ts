import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buy, buyerOf, follow, order, pay } from '../harness/buyer.ts'
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

describe.skipIf(clusterMissing !== undefined)('two gateways at one port', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-gateways-'))
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startCluster(dataDir, {
      replicas: 2,
      env: { PENSTOCK_SIM_BLOCK_SECONDS: '1', PENSTOCK_OPEN_WINDOW_SECONDS: '30', PENSTOCK_FUNDING_SEEN_BLOCKS: '30' },
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
      funding_confirms_within_blocks: 6,
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
