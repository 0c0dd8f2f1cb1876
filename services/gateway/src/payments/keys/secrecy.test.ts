import { newCredential } from '@penstock/credentials/credentials.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { openServiceKeysHarness, type ServiceKeysHarness } from './service-keys.fixture.ts'

/** The log lines and spans of the gateway, as texts. */
let recorded: string[] = []
const record = (...parts: readonly unknown[]): void => void recorded.push(JSON.stringify(parts))
const log: Logger = { debug: record, info: record, warn: record, error: record, child: () => log }
const tracing: Tracing = {
  span: async (about, work, describeResult) => {
    const result = await work()
    record(about, describeResult?.(result))
    return result
  },
  recordSpan: (about) => record(about),
  traceparent: () => undefined,
  request: (_, work) => work({ end: (name, attributes, failed) => record(name, attributes, failed) }),
}

let market: ServiceKeysHarness
beforeEach(async () => {
  recorded = []
  market = await openServiceKeysHarness(
    { PENSTOCK_DASHBOARD_PER_MINUTE: '60', PENSTOCK_SERVICE_KEY_PER_MINUTE: '3' },
    { log, tracing },
  )
})
afterEach(() => market.harness.close())

const WALLETS = '{ payment { wallet { find_many { list { id } } } } }'
const RECEIVE =
  'mutation ($input: CreateReceiveTransactionInput!) { payment { transaction { create_receive(input: $input) { id } } } }'

test('no log line and no span contains a key, whatever becomes of its request', async () => {
  const { key } = await market.issueKey({ environmentId: market.environmentId })
  const unknown = newCredential('psb_', market.harness.gateway.ids)
  const malformed = 'a-malformed-key'
  const statuses = [
    (await market.gqlWithKey(key, WALLETS)).status,
    (await market.gqlWithKey(key, '{ payment { nothing } }')).status,
    (await market.gqlWithKey(malformed, WALLETS)).status,
  ]
  market.harness.respondWith(() => {
    throw new Error('the service is down')
  })
  statuses.push((await market.gqlWithKey(key, RECEIVE, { input: { wallet_id: market.walletId, amount: '1' } })).status)
  while (statuses.at(-1) !== 429) statuses.push((await market.gqlWithKey(key, WALLETS)).status)
  for (let n = 0; n < 61; n++) statuses.push((await market.gqlWithKey(unknown, WALLETS)).status)
  assert.equal(statuses.at(-1), 429)
  const text = recorded.join('\n')
  for (const expected of ['a request was answered', 'a request failed', 'authentication refused', 'http.route'])
    assert.ok(text.includes(expected), expected)
  for (const secret of [key, unknown, malformed, 'x-api-key']) assert.ok(!text.toLowerCase().includes(secret.toLowerCase()))
})
