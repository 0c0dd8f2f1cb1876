import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { newCredential } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { authenticateService } from '../../payments/keys/authenticate-service.ts'
import { openServiceKeysHarness, type ServiceKeysHarness } from '../../payments/keys/service-keys.fixture.ts'

const ME = '{ account { me { id } } }'
const WALLETS = '{ payment { wallet { find_many { list { id } } } } }'
const MANY = '{ account { me { id } keys: api_keys { total_count } } payment { wallet { find_many { total_count } } } }'
const TWICE = '{ payment { wallet { one: find_many { total_count } two: find_many { total_count } } } }'

let market: ServiceKeysHarness
beforeEach(async () => {
  market = await openServiceKeysHarness({
    PENSTOCK_DASHBOARD_PER_MINUTE: '20',
    PENSTOCK_SERVICE_KEY_PER_MINUTE: '5',
    PENSTOCK_TRUST_PROXY: '1',
  })
})
afterEach(() => market.harness.close())

/** Sends a document until it is refused. @returns the number of requests before */
async function countAllowed(send: () => Promise<{ readonly status: number }>): Promise<number> {
  for (let allowed = 0; ; allowed++) if ((await send()).status === 429) return allowed
}
const asUser = (document: string) => () => market.gql(document)
const asService = (key: string, document: string, bearer?: string) => () => market.gqlWithKey(key, document, {}, bearer)
const issueKey = async () => (await market.issueKey({ environmentId: market.environmentId })).key

test('a request of a user counts once, whatever its operations', async () => {
  // The fixture has sent two requests with this token.
  assert.equal(await countAllowed(asUser(MANY)), 18)
})
test('each further use of the same operation in a request of a user counts once more', async () => {
  assert.equal(await countAllowed(asUser(TWICE)), 9)
})
test('operations of payments and of the account share the limit of the dashboard', async () => {
  for (let n = 0; n < 10; n++) await market.gql(ME)
  assert.equal(await countAllowed(asUser(WALLETS)), 8)
})
test('the requests of a service count per key, with their own limit', async () => {
  const [one, two] = [await issueKey(), await issueKey()]
  assert.equal(await countAllowed(asService(one, WALLETS)), 5)
  const refused = await market.gqlWithKey(one, WALLETS)
  assert.deepEqual(
    ['retry-after', 'ratelimit', 'ratelimit-policy'].map((name) => refused.headers.get(name)),
    ['60', '"service-key";r=0;t=60', '"service-key";q=5;w=60'],
  )
  assert.equal(refused.errors?.[0]?.extensions['code'], 'FORBIDDEN')
  assert.equal(await countAllowed(asService(two, TWICE)), 2)
  assert.equal((await market.gql(WALLETS)).status, 200)
})
test('with both headers, payments count for the key, and all else counts for the account', async () => {
  const key = await issueKey()
  assert.equal(await countAllowed(asService(key, WALLETS, market.token)), 5)
  assert.equal(await countAllowed(asService(key, ME, market.token)), 18)
})
test('operations with an invalid credential run and count as nothing, and unknown keys are still limited', async () => {
  const address = { 'x-forwarded-for': '198.51.100.7' }
  const refused = () => market.harness.post(ME, {}, { ...address, authorization: 'Bearer nonsense' })
  for (let n = 0; n < 25; n++) assert.equal((await refused()).status, 200)
  assert.equal(await countAllowed(() => market.harness.post(WALLETS, {}, address)), 20)
  const unknown = newCredential('psb_', market.harness.gateway.ids)
  assert.equal(await countAllowed(() => market.harness.post(WALLETS, {}, { ...address, 'x-api-key': unknown })), 20)
})
test('calls of payments without a credential count by address', async () => {
  const from = (address: string) => () => market.harness.post(WALLETS, {}, { 'x-forwarded-for': address })
  assert.equal(await countAllowed(from('203.0.113.7')), 20)
  assert.equal((await from('203.0.113.8')()).status, 200)
})
test('a second replica sees the requests that the first one counted', async () => {
  const key = await issueKey()
  await market.gqlWithKey(key, WALLETS)
  const { gateway } = market.harness
  const service = await authenticateService(gateway, key, '192.0.2.1')
  // Limits of another replica have their own memory, and the same tables.
  const limits = await sqlLimits(gateway.views)
  const outcome = await limits.hit(`service-key key ${service?.keyId}`, 5, MINUTE_MS, gateway.clock.now())
  assert.deepEqual(outcome, { allowed: true, remaining: 3 })
  assert.equal(await countAllowed(asService(key, WALLETS)), 3)
})
