import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { deriveTraceId } from '@penstock/runtime/observability/trace-ids.ts'
import { loginNames, streamServices } from '@penstock/standalone/registry.ts'
import { afterAll, beforeAll, test } from 'vitest'
import { readAlertRules } from '../../tools/dashboards/rules.ts'
import { type PurchasedOrder, buyChannel, sendGraphql, waitForStatus, paySimulatedInvoice } from '../support/market-client.ts'
import { LONG_TIMEOUT_SETTINGS, type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { isPaidOut } from '../support/order-report.ts'
import { type Collector, startCollector } from './collector.ts'
import { listExportedMetrics, optionalMetrics } from './exported-metrics.ts'
import { parseMetrics, type MetricSamples } from './metrics.ts'
import { assertWholePath, isTraceComplete, selectTraceOfOrder } from './traces.ts'

let collector: Collector
let product: Product
let bought: PurchasedOrder

beforeAll(async () => {
  collector = await startCollector()
  product = await startProduct(makeTempFolder(), {
    ...LONG_TIMEOUT_SETTINGS,
    PENSTOCK_OTLP_URL: collector.url,
    PENSTOCK_LOG_LEVEL: 'info',
  })
  bought = await buyChannel(product)
  await paySimulatedInvoice(product, bought.invoice)
  await waitForStatus(product, bought, ['VALID_CHANNEL_OPENING'])
  await waitUntil('the seller is paid', () => isPaidOut(product, bought), 60_000, 100)
})
afterAll(async () => {
  await product.stop()
  await collector.close()
})

async function readSeries(): Promise<MetricSamples> {
  const token = readFileSync(join(product.dataDir, 'operator.token'), 'utf8').trim()
  const response = await fetch(`${product.url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0.0.4/)
  return parseMetrics(await response.text())
}

test('one trace contains all steps of an order, from the request to the payout', async () => {
  await waitUntil('all spans have arrived', () => isTraceComplete(selectTraceOfOrder(collector.spans, bought.id)), 20_000, 100)
  assertWholePath(selectTraceOfOrder(collector.spans, bought.id), bought.id)
})

test('spans contain no secret, and observations of the chain without a result create no spans', () => {
  const text = JSON.stringify(collector.spans)
  for (const secret of [bought.key, bought.invoice, 'preimage', new URL(bought.page).pathname.split('/').at(-1) ?? ''])
    assert.ok(!text.includes(secret), secret)
  const idle = selectTraceOfOrder(collector.spans, bought.id).filter(
    ({ name, attributes, parent }) => name === 'handle Observe' && attributes['penstock.outcome'] === 'repeated' && !parent,
  )
  assert.deepEqual(idle, [])
})

test("the trace of a caller is linked to the order's trace, and does not replace it", async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const query =
    'mutation ($order: String!) { market { order { cancel(input: { order_id: $order, cancellation_reason: UNABLE_TO_PAY }) { success } } } }'
  const other = await buyChannel(product)
  await sendGraphql(product.url, query, { order: other.id }, other.key, { traceparent })
  const linked = () => collector.spans.filter(({ links }) => links.includes('4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'))
  await waitUntil('the linked span has arrived', () => linked().length > 0, 20_000, 100)
  assert.deepEqual(
    linked().map(({ trace, name }) => [trace, name]),
    [[deriveTraceId(other.id), 'POST /graphql']],
  )
})

test('log lines contain the order and its trace', () => {
  const lines = product
    .output()
    .split('\n')
    .filter((line) => line.includes(`"order":"${bought.id}"`) && line.includes('"command"'))
  assert.ok(lines.length > 20, `${lines.length} lines`)
  for (const line of lines) assert.ok(line.includes(`"trace":"${deriveTraceId(bought.id)}"`), line)
})

test('the metrics show one sale, and no pending work', async () => {
  const facts = (category: string, type: string) => ({ name: 'penstock_facts_appended_total', category, type })
  let series = await readSeries()
  await waitUntil(
    'the payout in the metrics, without lag',
    async () => {
      series = await readSeries()
      const lags = ['penstock_consumer_lag_seconds', 'penstock_relay_lag_seconds', 'penstock_relay_behind_facts']
      return series.sum({ name: 'penstock_payable_sat' }) === 0 && lags.every((name) => series.max({ name }) < 1)
    },
    30_000,
    500,
  )
  for (const [type, count] of Object.entries({
    HoldHeld: 1,
    HoldSettled: 1,
    PayoutSucceeded: 1,
    HoldRefused: 0,
    IncidentRecorded: 0,
  }))
    assert.equal(series.sum(facts('settlement', type)), count, type)
  assert.equal(series.sum(facts('order', 'OrderValid')), 1)
  for (const name of ['penstock_parked_keys', 'penstock_held_sat', 'penstock_payables', 'penstock_relay_behind_facts'])
    assert.equal(series.sum({ name }), 0, name)
  assert.equal(series.sum({ name: 'penstock_hold_blocks_left_min' }), undefined, 'no figure without a held payment')
  assert.equal(series.sum({ name: 'penstock_relay_held' }), streamServices.length)
  const missing = readAlertRules().find(({ name }) => name === 'PenstockServiceMissing')?.expr ?? ''
  const watched = new Set([...missing.matchAll(/component="([^"]+)"/g)].map(([, name = '']) => name))
  assert.deepEqual([...watched].toSorted(), [...loginNames].toSorted())
  for (const component of watched) assert.equal(series.sum({ name: 'penstock_component_running', component }), 1, component)
  assert.equal(series.sum({ name: 'penstock_effect_tries_total', effect: 'settle', outcome: 'recorded' }), 1)
  assert.ok((series.sum({ name: 'penstock_http_requests_total', route: '/graphql', status: '200' }) ?? 0) > 1)
  assert.ok(series.max({ name: 'penstock_relay_lag_seconds' }) < 1)
  assert.ok(series.max({ name: 'penstock_chain_tip_age_seconds' }) < 10)
})

test('every exported metric and its labels are declared, and no label value contains an id', async () => {
  const declared = listExportedMetrics()
  const series = await readSeries()
  for (const { name, labels } of series.all) {
    assert.ok(declared.has(name), `${name} is exported, and no module declares it`)
    if (name.startsWith('penstock_'))
      assert.deepEqual(
        Object.keys(labels).filter((label) => !declared.get(name)?.includes(label)),
        [],
      )
    for (const value of Object.values(labels)) assert.ok(!value.includes(bought.id) && value.length < 70, `${name}: ${value}`)
  }
  const names = new Set(series.all.map(({ name }) => name))
  const ours = [...declared.keys()].filter((name) => name.startsWith('penstock_') && !CLUSTER_ONLY.test(name) && !names.has(name))
  assert.deepEqual(
    ours.filter((name) => !optionalMetrics.has(name)),
    [],
  )
})

/** Metrics that only clusters export. */
const CLUSTER_ONLY = /^penstock_(kafka|postgres)_/
