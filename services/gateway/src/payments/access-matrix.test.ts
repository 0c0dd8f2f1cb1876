import { type Permission, permissionLevels, permissionResources } from '@penstock/contracts/payments/service-key.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { useCases } from '../areas.ts'
import { type GraphqlResult, NOW, readPath } from '../gateway-harness.fixture.ts'
import { FOREIGN_TEAM, RECEIVE, TEAM } from './payments.fixture.ts'
import { type Admission, ENDPOINT, ENVIRONMENT, EVENT, KEY, type Row, rows, TRANSACTION, WALLET } from './access-rows.fixture.ts'
import { ALL, codeOf, type IssuedKey, signUp } from './keys/service-keys.fixture.ts'
import { openWebhooksHarness, type WebhooksHarness } from './webhooks/webhooks.fixture.ts'

const OTHER_AREAS = /^(market|liquidity|user|account)\./
const operations = useCases.filter(({ path }) => !OTHER_AREAS.test(path))

let market: WebhooksHarness
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
  market = await openWebhooksHarness({ PENSTOCK_DASHBOARD_PER_MINUTE: '0', PENSTOCK_SERVICE_KEY_PER_MINUTE: '0' })
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
  const [{ id: endpoint }, { id: event }] = [await market.create(), await market.recordEvent()]
  ids = {
    [ENVIRONMENT]: environmentId,
    [WALLET]: walletId,
    [TRANSACTION]: transaction,
    [KEY]: keyId,
    [ENDPOINT]: endpoint,
    [EVENT]: event,
  }

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
  const { admits, isOfEnvironments, isForAllTeams, isListOfWallet } = row
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
  test('with a key for another wallet', async () => {
    const result = isListOfWallet ? 'empty' : 'not found'
    assert.equal(await call(row, path, { key: 'of another wallet' }), scopedKeyGets(isList ? 'admitted' : result))
  })
  test.each(['of another environment', 'of another team'])('with a key %s', async (key) =>
    assert.equal(await call(row, path, { key }), keyGets(isForAllTeams || isList ? 'admitted' : 'not found')),
  )
  test('with a key of another environment that created this one', async () => {
    // The key works in its own environment only, but it also sees those that it created.
    const admitted = path.startsWith('payment.environment.') || isForAllTeams || isList
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
