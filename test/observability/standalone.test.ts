import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@penstock/testkit/until.ts'
import { traceOf } from '@penstock/runtime/trace.ts'
import { afterAll, beforeAll, test } from 'vitest'
import { type Bought, buy, follow, pay } from '../harness/buyer.ts'
import { PATIENT, type Product, scratch, startProduct } from '../harness/product.ts'
import { paidOut } from '../harness/report.ts'
import { type Collector, startCollector } from './collector.ts'
import { exportedMetrics, notAlways } from './exported.ts'
import { parseMetrics, type Series } from './metrics.ts'
import { rules } from './queries.ts'
import { assertWholePath, isWhole, traceOfOrder } from './traces.ts'

let collector: Collector
let product: Product
let bought: Bought

beforeAll(async () => {
  collector = await startCollector()
  product = await startProduct(scratch(), { ...PATIENT, PENSTOCK_OTLP_URL: collector.url, PENSTOCK_LOG_LEVEL: 'info' })
  bought = await buy(product)
  await pay(product, bought.invoice)
  await follow(product, bought, ['VALID_CHANNEL_OPENING'])
  await until('the seller is paid', () => paidOut(product, bought), 60_000, 100)
})
afterAll(async () => {
  await product.stop()
  await collector.close()
})

async function metrics(): Promise<Series> {
  const token = readFileSync(join(product.dataDir, 'operator.token'), 'utf8').trim()
  const response = await fetch(`${product.url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0.0.4/)
  return parseMetrics(await response.text())
}

test('one trace has the whole way of an order, from the request to the payout', async () => {
  await until('all spans have arrived', () => isWhole(traceOfOrder(collector.spans, bought.id)), 20_000, 100)
  assertWholePath(traceOfOrder(collector.spans, bought.id), bought.id)
})

test('nothing secret is in a span, and looks that found nothing leave none', () => {
  const text = JSON.stringify(collector.spans)
  for (const secret of [bought.key, bought.invoice, 'preimage', new URL(bought.page).pathname.split('/').at(-1) ?? ''])
    assert.ok(!text.includes(secret), secret)
  const idle = traceOfOrder(collector.spans, bought.id).filter(
    ({ name, attributes, parent }) => name === 'handle Observe' && attributes['penstock.outcome'] === 'repeated' && !parent,
  )
  assert.deepEqual(idle, [])
})

test("a caller's own trace is linked, and does not become the order's", async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const query =
    'mutation ($order: String!) { market { order { cancel(input: { order_id: $order, cancellation_reason: UNABLE_TO_PAY }) { success } } } }'
  const other = await buy(product)
  await fetch(`${product.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${other.key}`, traceparent },
    body: JSON.stringify({ query, variables: { order: other.id } }),
  })
  const linked = () => collector.spans.filter(({ links }) => links.includes('4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'))
  await until('the linked span has arrived', () => linked().length > 0, 20_000, 100)
  assert.deepEqual(
    linked().map(({ trace, name }) => [trace, name]),
    [[traceOf(other.id), 'POST /graphql']],
  )
})

test('logs carry the order and its trace', () => {
  const lines = product
    .output()
    .split('\n')
    .filter((line) => line.includes(`"order":"${bought.id}"`) && line.includes('"command"'))
  assert.ok(lines.length > 20, `${lines.length} lines`)
  for (const line of lines) assert.ok(line.includes(`"trace":"${traceOf(bought.id)}"`), line)
})

test('the metrics tell of one sale, and of nothing that waits', async () => {
  const facts = (category: string, type: string) => ({ name: 'penstock_facts_appended_total', category, type })
  let series = await metrics()
  await until(
    'the guard has seen the payout, and nobody is behind',
    async () => {
      series = await metrics()
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
    IncidentNoted: 0,
  }))
    assert.equal(series.sum(facts('settlement', type)), count, type)
  assert.equal(series.sum(facts('order', 'OrderValid')), 1)
  for (const name of ['penstock_parked_keys', 'penstock_held_sat', 'penstock_payables', 'penstock_relay_behind_facts'])
    assert.equal(series.sum({ name }), 0, name)
  assert.equal(series.sum({ name: 'penstock_hold_blocks_left_min' }), undefined, 'no figure where nothing is held')
  assert.equal(series.sum({ name: 'penstock_relay_held' }), 6)
  const watched = [
    ...(rules().find(({ name }) => name === 'PenstockServiceMissing')?.expr ?? '').matchAll(/component="([^"]+)"/g),
  ].map(([, name = '']) => name)
  assert.equal(watched.length, 8)
  for (const component of watched) assert.equal(series.sum({ name: 'penstock_component_running', component }), 1, component)
  assert.equal(series.sum({ name: 'penstock_effect_tries_total', effect: 'settle', outcome: 'recorded' }), 1)
  assert.ok((series.sum({ name: 'penstock_http_requests_total', route: '/graphql', status: '200' }) ?? 0) > 1)
  assert.ok(series.max({ name: 'penstock_relay_lag_seconds' }) < 1)
  assert.ok(series.max({ name: 'penstock_chain_tip_age_seconds' }) < 10)
})

test('what is exported is declared, with these labels and no others, and no id is in one', async () => {
  const declared = exportedMetrics()
  const series = await metrics()
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
  const ours = [...declared.keys()].filter((name) => name.startsWith('penstock_') && !ELSEWHERE.test(name) && !names.has(name))
  assert.deepEqual(
    ours.filter((name) => !notAlways.has(name)),
    [],
  )
})

/** Of clusters. */
const ELSEWHERE = /^penstock_(kafka|postgres)_/
