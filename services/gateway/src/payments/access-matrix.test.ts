import { type Permission, permissionLevels, permissionResources } from '@penstock/contracts/payments/service-key.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { useCases } from '../areas.ts'
import { type GraphqlResult, NOW, readPath } from '../gateway-harness.fixture.ts'
import { FOREIGN_TEAM, RECEIVE, TEAM } from './payments.fixture.ts'
import {
  ALL,
  codeOf,
  type IssuedKey,
  openServiceKeysHarness,
  type ServiceKeysHarness,
  signUp,
} from './keys/service-keys.fixture.ts'

/** The callers that an operation admits: everybody, dashboard users only, or also the keys with a permission. */
type Admission = 'public' | 'dashboard' | `${Permission['resource']}:${Permission['level']}`
type Row = {
  readonly admits: Admission
  /** The document of a call, without the braces of the operation. */
  readonly document: string
  /** The operation is about environments, so it refuses a key for one wallet. */
  readonly isOfEnvironments?: true
  /** The operation names nothing of a team, so every team may call it. */
  readonly isForAllTeams?: true
}

/** Stand for the ids of the sandbox in the documents. */
const [ENVIRONMENT, WALLET, TRANSACTION, KEY] = ['ENVIRONMENT_ID', 'WALLET_ID', 'TRANSACTION_ID', 'KEY_ID']

/** The operations of payments, as section 5 of the specification admits callers to them. */
const rows: Readonly<Record<string, Row>> = {
  'public.assets.supported': {
    admits: 'public',
    document: 'public { assets { supported { total_count } } }',
    isForAllTeams: true,
  },
  'taproot_assets.list': { admits: 'public', document: 'taproot_assets { list { id } }', isForAllTeams: true },
  'payment.environment.create': {
    admits: 'ENVIRONMENTS:WRITE',
    document: 'payment { environment { create(input: { name: "shop", type: SANDBOX }) { id } } }',
    isOfEnvironments: true,
    isForAllTeams: true,
  },
  'payment.environment.find_one': {
    admits: 'ENVIRONMENTS:READ',
    document: `payment { environment { find_one(id: "${ENVIRONMENT}") { id } } }`,
    isOfEnvironments: true,
  },
  'payment.environment.find_many': {
    admits: 'ENVIRONMENTS:READ',
    document: 'payment { environment { find_many { list { id } } } }',
    isOfEnvironments: true,
  },
  'payment.environment.delete': {
    admits: 'ENVIRONMENTS:WRITE',
    document: `payment { environment { delete(id: "${ENVIRONMENT}") } }`,
    isOfEnvironments: true,
  },
  'payment.wallet.create': {
    admits: 'WALLETS:WRITE',
    document: `payment { wallet { create(input: { name: "till", environment_id: "${ENVIRONMENT}", asset_id: "b7c0b1de-0000-4000-8000-000000000001" }) { id } } }`,
    isOfEnvironments: true,
  },
  'payment.wallet.find_one': {
    admits: 'WALLETS:READ',
    document: `payment { wallet { find_one(id: "${WALLET}") { id } } }`,
  },
  'payment.wallet.find_many': { admits: 'WALLETS:READ', document: 'payment { wallet { find_many { list { id } } } }' },
  'payment.wallet.delete': { admits: 'WALLETS:WRITE', document: `payment { wallet { delete(id: "${WALLET}") } }` },
  'payment.transaction.create_receive': {
    admits: 'PAYMENTS:WRITE',
    document: `payment { transaction { create_receive(input: { wallet_id: "${WALLET}", amount: "1" }) { id } } }`,
  },
  'payment.transaction.create_send': {
    admits: 'PAYMENTS:WRITE',
    document: `payment { transaction { create_send(input: { wallet_id: "${WALLET}", address: { lightning_address: "ann@example.org", amount: "1" } }) { id } } }`,
  },
  'payment.transaction.find_one': {
    admits: 'PAYMENTS:READ',
    document: `payment { transaction { find_one(id: "${TRANSACTION}") { id } } }`,
  },
  'payment.transaction.find_many': {
    admits: 'PAYMENTS:READ',
    document: `payment { transaction { find_many(input: { wallet_id: "${WALLET}" }) { list { id } } } }`,
  },
  'service_api_key.create': {
    admits: 'dashboard',
    document: `service_api_key { create(input: { name: "till", environment_id: "${ENVIRONMENT}", permissions: [{ resource: WALLETS, level: READ }] }) { id } }`,
  },
  'service_api_key.update': {
    admits: 'dashboard',
    document: `service_api_key { update(id: "${KEY}", input: { name: "till" }) { id } }`,
  },
  'service_api_key.revoke': { admits: 'dashboard', document: `service_api_key { revoke(id: "${KEY}") { id } }` },
  'service_api_keys.get_many': {
    admits: 'dashboard',
    document: `service_api_keys { get_many(environment_id: "${ENVIRONMENT}") { id } }`,
  },
}

const OTHER_AREAS = /^(market|liquidity|user|account)\./
const operations = useCases.filter(({ path }) => !OTHER_AREAS.test(path))

let market: ServiceKeysHarness
let ids: Readonly<Record<string, string>>
/** As `ids`, with a sandbox that a key of another environment created. */
let createdIds: Readonly<Record<string, string>>
const bearers: Record<string, string> = {}
const keys: Record<string, string> = {}

const everyPermission: readonly Permission[] = [...ALL, { resource: 'WALLET_CREDENTIALS', level: 'READ' }]
const singlePermissions = permissionResources.flatMap((resource) =>
  permissionLevels.map((level): Permission => ({ resource, level })),
)
const nameOf = ({ resource, level }: Permission): string => `${resource}:${level}`

beforeAll(async () => {
  market = await openServiceKeysHarness({ PENSTOCK_DASHBOARD_PER_MINUTE: '0', PENSTOCK_SERVICE_KEY_PER_MINUTE: '0' })
  const { harness, environmentId, walletId } = market
  const { gateway } = harness
  const second = await market.createSandbox('second')
  const foreign = await market.createSandbox('foreign', await market.logIn(FOREIGN_TEAM))
  await signUp(market, FOREIGN_TEAM)
  const { plaintext_key, id: keyId } = await market.call<{ readonly plaintext_key: string; readonly id: string }>(
    'mutation ($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id plaintext_key } } }',
    { input: { name: 'revoked', environment_id: environmentId, permissions: ALL } },
    'service_api_key.create',
  )
  await market.project('servicekey', keyId, [{ type: 'KeyRevoked', data: {} }])
  const input = { wallet_id: walletId, amount: '1' }
  const transaction = await market.call<string>(RECEIVE, { input }, 'payment.transaction.create_receive.id')
  ids = { [ENVIRONMENT]: environmentId, [WALLET]: walletId, [TRANSACTION]: transaction, [KEY]: keyId }

  bearers['token'] = market.token
  bearers['foreign token'] = await market.logIn(FOREIGN_TEAM)
  bearers['account API key'] = await harness.apiKey(TEAM)
  bearers['session key'] = newCredential('psk_', gateway.ids)
  const sessionHash = hashCredential(gateway.pepper, bearers['session key'])
  await harness.projectFacts('account', walletId, [{ type: 'SessionOpened', data: { keyHash: sessionHash, orderId: null } }])

  const issue = async (name: string, issued: Partial<IssuedKey>) => {
    keys[name] = (await market.issueKey({ environmentId, permissions: everyPermission, ...issued })).key
  }
  keys['malformed'] = 'nonsense'
  keys['unknown'] = newCredential('psb_', gateway.ids)
  keys['revoked'] = plaintext_key
  await issue('expired', { expiresAt: NOW })
  for (const permission of singlePermissions) await issue(nameOf(permission), { permissions: [permission] })
  await issue('of everything', {})
  await issue('of the wallet', { walletId })
  await issue('of another wallet', { walletId: await createWallet(environmentId) })
  await issue('of another environment', { environmentId: second.environmentId })
  await issue('of another team', { teamId: FOREIGN_TEAM, environmentId: foreign.environmentId })
  await issue('that created another sandbox', { environmentId: second.environmentId })
  createdIds = { ...ids, ...(await createSandboxWithKey(keys['that created another sandbox'] ?? '')) }
  // No call changes anything, so that the tests do not depend on each other.
  harness.respondWith((ask, options) => harness.projectOutcome(ask, options, { code: 'TEST', message: 'not carried out' }))
})
afterAll(() => market.harness.close())

const createWallet = (environmentId: string): Promise<string> =>
  market.call(
    'mutation ($input: CreatePaymentsWalletInput!) { payment { wallet { create(input: $input) { id } } } }',
    { input: { name: 'other', environment_id: environmentId, asset_id: 'b7c0b1de-0000-4000-8000-000000000001' } },
    'payment.wallet.create.id',
  )

/** @returns the ids of the sandbox, as the documents name them */
async function createSandboxWithKey(key: string): Promise<Readonly<Record<string, string>>> {
  const { document } = rows['payment.environment.create'] ?? assert.fail()
  const created = String(readPath(await market.gqlWithKey(key, `mutation { ${document} }`), 'payment.environment.create.id'))
  const wallet = await market.call<string>(
    `{ payment { wallet { find_many(input: { environment_id: "${created}" }) { list { id } } } } }`,
    {},
    'payment.wallet.find_many.list.0.id',
  )
  return { [ENVIRONMENT]: created, [WALLET]: wallet }
}

type Credentials = { readonly bearer?: string; readonly key?: string }

/**
 * The result of a call. 'admitted': the caller reached the use case and its data. 'not found': the answer is that for an unknown
 * id. 'empty': a list without an entry of the sandbox. Else: the code of the refusal.
 */
async function call(row: Row, path: string, { bearer, key }: Credentials, of = ids): Promise<unknown> {
  const root = operations.find((operation) => operation.path === path)?.root === 'Mutation' ? 'mutation' : 'query'
  const fields = Object.entries(of).reduce((text, [name, id]) => text.replace(name, id), row.document)
  const answer = await market.harness.post(
    `${root} { ${fields} }`,
    {},
    { ...(bearer && { authorization: `Bearer ${bearers[bearer]}` }), ...(key && { 'x-api-key': keys[key] ?? '' }) },
  )
  return describeAnswer(answer)
}

function describeAnswer(answer: GraphqlResult): unknown {
  const code = codeOf(answer)
  const message = answer.errors?.[0]?.message ?? ''
  if (code === undefined) return JSON.stringify(answer.data).includes('"list":[]') ? 'empty' : 'admitted'
  if (code === 'UNAUTHENTICATED') assert.equal(message, 'Unauthorized token')
  if (message.endsWith(' not found')) return 'not found'
  return message === 'not carried out' ? 'admitted' : code
}

const hasPermission = (admits: Admission, { resource, level }: Permission): boolean =>
  admits === `${resource}:${level}` || (level === 'WRITE' && admits === `${resource}:READ`)

test('each operation of payments has a row, and each row has an operation', () => {
  assert.deepEqual(Object.keys(rows).toSorted(), operations.map(({ path }) => path).toSorted())
})

describe.each(Object.entries(rows))('%s', (path, row) => {
  const { admits, isOfEnvironments, isForAllTeams } = row
  /** The result for a caller that is neither a dashboard user nor a service with a key. */
  const elseGets = (refusal: string): string => (admits === 'public' ? 'admitted' : refusal)
  const keyGets = (result: string): string => {
    if (admits === 'public') return 'admitted'
    return admits === 'dashboard' ? 'UNAUTHENTICATED' : result
  }
  const scopedKeyGets = (result: string): string => keyGets(isOfEnvironments ? 'FORBIDDEN' : result)
  const isList = path === 'payment.wallet.find_many' || path === 'payment.environment.find_many'

  test('without a credential', async () => assert.equal(await call(row, path, {}), elseGets('UNAUTHENTICATED')))
  test.each(['malformed', 'unknown', 'expired', 'revoked'])('with a key that is %s', async (key) => {
    assert.equal(await call(row, path, { key }), 'UNAUTHENTICATED')
    assert.equal(await call(row, path, { key, bearer: 'token' }), 'UNAUTHENTICATED')
  })
  test.each(['session key', 'account API key'])('with the %s of an account', async (bearer) =>
    assert.equal(await call(row, path, { bearer }), elseGets('FORBIDDEN')),
  )
  test('with a dashboard token', async () => assert.equal(await call(row, path, { bearer: 'token' }), 'admitted'))
  test('with the dashboard token of another team', async () => {
    const result = await call(row, path, { bearer: 'foreign token' })
    // The list of the other team has its own sandbox.
    assert.equal(result, isForAllTeams || isList ? 'admitted' : 'not found')
  })
  test.each(singlePermissions.map(nameOf))('with a key that has %s', async (name) => {
    const permission = singlePermissions.find((one) => nameOf(one) === name) ?? assert.fail()
    assert.equal(await call(row, path, { key: name }), keyGets(hasPermission(admits, permission) ? 'admitted' : 'FORBIDDEN'))
  })
  test('with a dashboard token and a key', async () => {
    const refused = admits === 'ENVIRONMENTS:READ' ? 'PAYMENTS:READ' : 'ENVIRONMENTS:READ'
    const expected = admits === 'public' || admits === 'dashboard' ? 'admitted' : 'FORBIDDEN'
    assert.equal(await call(row, path, { bearer: 'token', key: refused }), expected)
    assert.equal(
      await call(row, path, { bearer: 'account API key', key: 'of everything' }),
      admits === 'dashboard' ? 'FORBIDDEN' : 'admitted',
    )
  })
  test('with a key for the wallet', async () =>
    assert.equal(await call(row, path, { key: 'of the wallet' }), scopedKeyGets('admitted')))
  test('with a key for another wallet', async () =>
    assert.equal(await call(row, path, { key: 'of another wallet' }), scopedKeyGets(isList ? 'admitted' : 'not found')))
  test.each(['of another environment', 'of another team'])('with a key %s', async (key) =>
    assert.equal(await call(row, path, { key }), keyGets(isForAllTeams || isList ? 'admitted' : 'not found')),
  )
  test('with a key of another environment that created this one', async () => {
    // The key works in its own environment only, but it also sees those that it created.
    const admitted = path.startsWith('payment.environment.') || isList
    const result = await call(row, path, { key: 'that created another sandbox' }, createdIds)
    assert.equal(result, keyGets(admitted ? 'admitted' : 'not found'))
    const other = await call(row, path, { key: 'of another environment' }, createdIds)
    assert.equal(other, keyGets(isForAllTeams || isList ? 'admitted' : 'not found'))
  })
})

test.each(['payment.wallet.find_many', 'payment.environment.find_many'])(
  '%s shows a caller only its own entries',
  async (path) => {
    const { document } = rows[path] ?? assert.fail()
    const idsOf = async (headers: Record<string, string>): Promise<string> =>
      JSON.stringify((await market.harness.post(`{ ${document} }`, {}, headers)).data)
    const { [ENVIRONMENT]: environment = '', [WALLET]: wallet = '' } = ids
    const isShown = (text: string): boolean => text.includes(environment) || text.includes(wallet)
    assert.ok(isShown(await idsOf({ authorization: `Bearer ${market.token}` })))
    assert.ok(!isShown(await idsOf({ authorization: `Bearer ${bearers['foreign token']}` })))
    for (const key of ['of another wallet', 'of another environment', 'of another team'])
      assert.ok(!isShown(await idsOf({ 'x-api-key': keys[key] ?? '' })), key)
  },
)
