import { newCredential } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { GraphqlResult } from '../gateway-harness.fixture.ts'
import { openServiceKeysHarness, type ServiceKeysHarness } from './keys/service-keys.fixture.ts'

const WALLET = 'query ($id: String!) { payment { wallet { find_one(id: $id) { id } } } }'
const CREATE_ENVIRONMENT =
  'mutation ($type: PaymentsEnvironmentType!) { payment { environment { create(input: { name: "shop", type: $type }) { id } } } }'
const CREATE_KEY =
  'mutation ($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id plaintext_key } } }'
const REVOKE = 'mutation ($id: String!) { service_api_key { revoke(id: $id) { active } } }'

let market: ServiceKeysHarness
beforeEach(async () => void (market = await openServiceKeysHarness({ PENSTOCK_SERVICE_KEY_PER_MINUTE: '2' })))
afterEach(() => market.harness.close())

const post = (document: string, variables: object, headers: Readonly<Record<string, string>>) =>
  market.harness.post(document, variables, headers)
const findWallet = (headers: Readonly<Record<string, string>>) => post(WALLET, { id: market.walletId }, headers)
const issueKey = async (more: object = {}) => (await market.issueKey({ environmentId: market.environmentId, ...more })).key
const asUser = () => ({ authorization: `Bearer ${market.token}` })

/** Asserts an answer with one error: its code and path, a short message, and null for the field that failed. */
function assertRefused({ status, errors = [], data }: GraphqlResult, code: string, path: string, message: RegExp): void {
  assert.deepEqual([status, errors.length], [200, 1])
  assert.deepEqual([errors[0]?.extensions['code'], errors[0]?.path?.join('.')], [code, path])
  assert.match(errors[0]?.message ?? '', message)
  const [namespace = '', group = '', field = ''] = path.split('.')
  const expected = field === '' ? { [namespace]: { [group]: null } } : { [namespace]: { [group]: { [field]: null } } }
  assert.deepEqual(data, expected)
}

function assertNotAuthenticated(answer: GraphqlResult): void {
  assertRefused(answer, 'UNAUTHENTICATED', 'payment.wallet.find_one', /^Unauthorized token$/)
  assert.deepEqual(answer.errors?.[0]?.extensions, { code: 'UNAUTHENTICATED' })
}

describe('UNAUTHENTICATED', () => {
  test('the header is missing', async () =>
    assertRefused(await findWallet({}), 'UNAUTHENTICATED', 'payment.wallet.find_one', /^Unauthorized token$/))
  test('the Bearer token is missing', async () => {
    const key = await issueKey()
    const answer = await post(REVOKE, { id: market.walletId }, { 'x-api-key': key })
    assertRefused(answer, 'UNAUTHENTICATED', 'service_api_key.revoke', /^Unauthorized token$/)
  })
  test('the key is invalid', async () => {
    for (const key of ['nonsense', newCredential('psb_', market.harness.gateway.ids)])
      assertNotAuthenticated(await findWallet({ 'x-api-key': key }))
  })
  test('the key is sent as a Bearer credential', async () =>
    assertNotAuthenticated(await findWallet({ authorization: `Bearer ${await issueKey()}` })))
  test('the Bearer token is invalid', async () => assertNotAuthenticated(await findWallet({ authorization: 'Bearer nonsense' })))
  test('the key was revoked, from its next call on', async () => {
    const input = { name: 'till', environment_id: market.environmentId, permissions: [{ resource: 'WALLETS', level: 'READ' }] }
    const created = await market.call<{ readonly id: string; readonly plaintext_key: string }>(
      CREATE_KEY,
      { input },
      'service_api_key.create',
    )
    const headers = { 'x-api-key': created.plaintext_key }
    assert.equal((await findWallet(headers)).errors, undefined)
    assert.equal((await post(REVOKE, { id: created.id }, asUser())).errors, undefined)
    assertNotAuthenticated(await findWallet(headers))
  })
})

describe('FORBIDDEN', () => {
  test('the key lacks the permission', async () => {
    const key = await issueKey({ permissions: [{ resource: 'PAYMENTS', level: 'WRITE' }] })
    const answer = await findWallet({ 'x-api-key': key })
    assertRefused(answer, 'FORBIDDEN', 'payment.wallet.find_one', /^This key lacks the permission WALLETS:READ\.$/)
  })
  test('a key creates a live environment', async () => {
    const answer = await post(CREATE_ENVIRONMENT, { type: 'LIVE' }, { 'x-api-key': await issueKey() })
    assertRefused(answer, 'FORBIDDEN', 'payment.environment.create', /SANDBOX/)
  })
  test('the credential of an account is not its dashboard token', async () => {
    const key = await market.harness.apiKey('70000000-0000-4000-8000-000000000009')
    const headers = { authorization: `Bearer ${key}` }
    const answer = await post(CREATE_ENVIRONMENT, { type: 'SANDBOX' }, headers)
    assertRefused(answer, 'FORBIDDEN', 'payment.environment.create', /dashboard token/)
    assertRefused(await post(REVOKE, { id: market.walletId }, headers), 'FORBIDDEN', 'service_api_key.revoke', /dashboard token/)
  })
  test('a key for one wallet calls an operation on environments', async () => {
    const key = await issueKey({ walletId: market.walletId })
    const answer = await post(CREATE_ENVIRONMENT, { type: 'SANDBOX' }, { 'x-api-key': key })
    assertRefused(answer, 'FORBIDDEN', 'payment.environment.create', /one wallet only/)
  })
})

describe('GRAPHQL_VALIDATION_FAILED', () => {
  const documents: readonly (readonly [string, string, object])[] = [
    ['a required field is missing', CREATE_KEY, { input: { name: 'till' } }],
    ['a value has the wrong type', WALLET, { id: { is: 'an object' } }],
    ['an enum has no such value', CREATE_ENVIRONMENT, { type: 'TEST' }],
    ['the document names an unknown field', '{ payment { wallet { balance } } }', {}],
    ['the document is no GraphQL', 'payment', {}],
  ]
  test.each(documents)('%s', async (_, document, variables) => {
    const { status, errors = [], data } = await post(document, variables, asUser())
    assert.deepEqual([status, data, errors[0]?.extensions['code']], [200, undefined, 'GRAPHQL_VALIDATION_FAILED'])
    assert.ok((errors[0]?.message ?? '').length <= 301)
  })
  test('an id is unknown', async () => {
    const answer = await post(WALLET, { id: market.environmentId }, asUser())
    assertRefused(answer, 'GRAPHQL_VALIDATION_FAILED', 'payment.wallet.find_one', /^Wallet not found$/)
  })
  test.each([
    ['without WALLETS', ['WALLET_CREDENTIALS'], true],
    ['without wallet_id', ['WALLET_CREDENTIALS', 'WALLETS'], false],
  ] as const)('a key gets WALLET_CREDENTIALS %s', async (_, resources, hasWallet) => {
    const permissions = resources.map((resource) => ({ resource, level: 'READ' }))
    const wallet = hasWallet ? { wallet_id: market.walletId } : {}
    const input = { name: 'till', environment_id: market.environmentId, permissions, ...wallet }
    const answer = await post(CREATE_KEY, { input }, asUser())
    assertRefused(answer, 'GRAPHQL_VALIDATION_FAILED', 'service_api_key.create', /^WALLET_CREDENTIALS needs/)
  })
})

test('INTERNAL_SERVER_ERROR: the server fails, and its reason is in the log only', async () => {
  market.harness.respondWith(() => {
    throw new Error('the disk of db-7 is full')
  })
  const answer = await post(CREATE_ENVIRONMENT, { type: 'SANDBOX' }, asUser())
  assertRefused(answer, 'INTERNAL_SERVER_ERROR', 'payment.environment.create', /^Something went wrong on our side/)
  assert.ok(!JSON.stringify(answer).includes('db-7'))
  assert.match(JSON.stringify(market.harness.loggedErrors), /db-7/)
})

test('429: a request over the limit, with the time to wait', async () => {
  const headers = { 'x-api-key': await issueKey() }
  for (let n = 0; n < 2; n++) assert.equal((await findWallet(headers)).status, 200)
  const answer = await findWallet(headers)
  assert.deepEqual([answer.status, answer.data], [429, undefined])
  assert.deepEqual(
    answer.errors?.map(({ extensions }) => extensions),
    [{ code: 'FORBIDDEN' }],
  )
  assert.equal(answer.headers.get('retry-after'), '60')
  assert.equal(answer.headers.get('ratelimit'), '"service-key";r=0;t=60')
  assert.equal(answer.headers.get('ratelimit-policy'), '"service-key";q=2;w=60')
})
