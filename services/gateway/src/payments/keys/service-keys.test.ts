import { isServiceKey } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { NOW, readPath } from '../../gateway-harness.fixture.ts'
import { FOREIGN_TEAM } from '../payments.fixture.ts'
import { codeOf, openServiceKeysHarness, type ServiceKeysHarness } from './service-keys.fixture.ts'

const FIELDS =
  'id name key_prefix key_suffix active last_used_at expires_at environment_id wallet_id node_id created_at permissions { id resource level }'
const CREATE = `mutation ($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id plaintext_key key { ${FIELDS} } } } }`
const UPDATE = `mutation ($id: String!, $name: String!) { service_api_key { update(id: $id, input: { name: $name }) { ${FIELDS} } } }`
const REVOKE = 'mutation ($id: String!) { service_api_key { revoke(id: $id) { id active } } }'
const LIST = `query ($id: String!) { service_api_keys { get_many(environment_id: $id) { ${FIELDS} } } }`
const WALLETS = '{ payment { wallet { find_many { list { id } } } } }'
const READ_WALLETS = [{ resource: 'WALLETS', level: 'READ' }]

type KeyRecord = {
  readonly id: string
  readonly name: string
  readonly active: boolean
  readonly expires_at: string | null
  readonly permissions: readonly object[]
}
type CreatedKey = { readonly id: string; readonly plaintext_key: string; readonly key: KeyRecord }

let market: ServiceKeysHarness
beforeEach(async () => void (market = await openServiceKeysHarness()))
afterEach(() => market.harness.close())

const toInput = (input: object) => ({
  input: { name: 'server', environment_id: market.environmentId, permissions: READ_WALLETS, ...input },
})
const create = (input: object = {}) => market.call<CreatedKey>(CREATE, toInput(input), 'service_api_key.create')
const list = () => market.call<readonly KeyRecord[]>(LIST, { id: market.environmentId }, 'service_api_keys.get_many')

describe('service_api_key.create', () => {
  test('returns the key once, and its record without it', async () => {
    const { id, plaintext_key: key, key: record } = await create()
    assert.match(key, /^psb_[\w-]{43}[0-9a-f]{8}$/)
    assert.ok(isServiceKey(key))
    assert.deepEqual(record, {
      id,
      name: 'server',
      key_prefix: key.slice(0, 8),
      key_suffix: key.slice(-4),
      active: true,
      last_used_at: null,
      expires_at: null,
      environment_id: market.environmentId,
      wallet_id: null,
      node_id: null,
      created_at: readPath(await market.gql(LIST, { id: market.environmentId }), 'service_api_keys.get_many.0.created_at'),
      permissions: [{ id: `${id}/WALLETS`, resource: 'WALLETS', level: 'READ' }],
    })
    assert.deepEqual(await list(), [record])
    assert.ok(!JSON.stringify(await list()).includes(key))
    assert.equal(codeOf(await market.gqlWithKey(key, WALLETS)), undefined)
  })
  test('sends neither the key nor its name in a command', async () => {
    const { plaintext_key: key } = await create({ name: 'the till of the shop' })
    const sent = JSON.stringify(market.harness.sent)
    for (const secret of [key, key.slice(4), 'the till of the shop']) assert.ok(!sent.includes(secret), secret)
  })
  test('merges permissions of the same resource to the highest level', async () => {
    const given = [
      { resource: 'PAYMENTS', level: 'READ' },
      { resource: 'PAYMENTS', level: 'WRITE' },
      { resource: 'WALLETS', level: 'READ' },
      { resource: 'WALLETS', level: 'READ' },
    ]
    const { id, key } = await create({ permissions: given })
    assert.deepEqual(key.permissions, [
      { id: `${id}/WALLETS`, resource: 'WALLETS', level: 'READ' },
      { id: `${id}/PAYMENTS`, resource: 'PAYMENTS', level: 'WRITE' },
    ])
  })
  test('takes null as a field that was not sent', async () => {
    const { key } = await create({ wallet_id: null, node_id: null, expires_at: null })
    assert.equal(key.expires_at, null)
  })
  test('takes a time in the future as the expiry', async () => {
    const expires_at = new Date(NOW + 1000).toISOString()
    const { key } = await create({ expires_at })
    assert.equal(key.expires_at, expires_at)
  })

  const credentials = { resource: 'WALLET_CREDENTIALS', level: 'READ' }
  const wallets = { resource: 'WALLETS', level: 'READ' }
  const refusals: readonly (readonly [string, () => object, string])[] = [
    ['an empty name', () => ({ name: ' ' }), 'name must have 1 to 100 characters'],
    ['a name of 101 characters', () => ({ name: 'x'.repeat(101) }), 'name must have 1 to 100 characters'],
    ['no permission', () => ({ permissions: [] }), 'permissions must have at least one entry'],
    ['an expiry in the past', () => ({ expires_at: new Date(NOW).toISOString() }), 'expires_at must be in the future'],
    ['an expiry that is no time', () => ({ expires_at: 'soon' }), 'expires_at must be a time such as 2027-01-31T12:00:00.000Z'],
    ['a node', () => ({ node_id: market.walletId }), 'Keys for a node are not served yet. Leave node_id out.'],
    ['an environment id that is no UUID', () => ({ environment_id: 'shop' }), 'Invalid ID'],
    ['an empty wallet id', () => ({ wallet_id: '' }), 'Invalid ID'],
    ['an empty node id', () => ({ node_id: '' }), 'Invalid ID'],
    ['an empty expiry', () => ({ expires_at: '' }), 'expires_at must be a time such as 2027-01-31T12:00:00.000Z'],
    ['an unknown environment', () => ({ environment_id: market.walletId }), 'Environment not found'],
    ['an unknown wallet', () => ({ wallet_id: market.environmentId }), 'Wallet not found'],
    [
      'WALLET_CREDENTIALS without WALLETS',
      () => ({ wallet_id: market.walletId, permissions: [credentials] }),
      'WALLET_CREDENTIALS needs WALLETS:READ too',
    ],
    [
      'WALLET_CREDENTIALS without wallet_id',
      () => ({ permissions: [credentials, wallets] }),
      'WALLET_CREDENTIALS needs wallet_id',
    ],
    [
      'WALLET_CREDENTIALS:WRITE',
      () => ({ wallet_id: market.walletId, permissions: [{ ...credentials, level: 'WRITE' }, wallets] }),
      'WALLET_CREDENTIALS has no level WRITE; use READ',
    ],
  ]
  test.each(refusals)('refuses %s before it sends a command', async (_, input, message) => {
    const before = market.harness.sent.length
    const answer = await market.gql(CREATE, toInput(input()))
    assert.deepEqual([answer.errors?.[0]?.message, codeOf(answer)], [message, 'GRAPHQL_VALIDATION_FAILED'])
    assert.equal(market.harness.sent.length, before)
  })
  test('refuses the wallet of another environment, and the environment and wallet of another team', async () => {
    const second = await market.createSandbox('second')
    const foreign = await market.createSandbox('foreign', await market.logIn(FOREIGN_TEAM))
    const inputs = [
      { wallet_id: second.walletId },
      { wallet_id: foreign.walletId },
      { environment_id: foreign.environmentId },
      { environment_id: foreign.environmentId, wallet_id: foreign.walletId },
    ]
    const answers = await Promise.all(inputs.map((input) => market.gql(CREATE, toInput(input))))
    assert.deepEqual(
      answers.map(({ errors }) => errors?.[0]?.message),
      ['Wallet not found', 'Wallet not found', 'Environment not found', 'Environment not found'],
    )
  })
  test('admits WALLET_CREDENTIALS:READ with WALLETS and a wallet', async () => {
    const { key } = await create({ wallet_id: market.walletId, permissions: [credentials, wallets] })
    assert.equal(key.permissions.length, 2)
  })
})

describe('service_api_key.update', () => {
  test('changes the name and deletes the old one', async () => {
    const { id } = await create()
    const nameRecord = market.listSent('IssueKey').at(-1)?.data['nameRecord'] ?? assert.fail()
    const renamed = await market.call<KeyRecord>(UPDATE, { id, name: 'till' }, 'service_api_key.update')
    assert.equal(renamed.name, 'till')
    assert.equal((await list())[0]?.name, 'till')
    assert.equal(await market.harness.gateway.records.get(nameRecord), undefined)
  })
  test('refuses an empty name, an unknown key and the key of another team', async () => {
    const { id } = await create()
    const stranger = await market.logIn(FOREIGN_TEAM)
    const answers = [
      await market.gql(UPDATE, { id, name: '' }),
      await market.gql(UPDATE, { id: market.walletId, name: 'till' }),
      await market.gql(UPDATE, { id, name: 'till' }, stranger),
    ]
    assert.deepEqual(
      answers.map(({ errors }) => errors?.[0]?.message),
      ['name must have 1 to 100 characters', 'Service API key not found', 'Service API key not found'],
    )
  })
})

describe('service_api_key.revoke', () => {
  test('ends the key at its next call, and can be repeated', async () => {
    const { id, plaintext_key: key } = await create()
    assert.equal(codeOf(await market.gqlWithKey(key, WALLETS)), undefined)
    for (let n = 0; n < 2; n++)
      assert.deepEqual(await market.call(REVOKE, { id }, 'service_api_key.revoke'), { id, active: false })
    assert.equal(codeOf(await market.gqlWithKey(key, WALLETS)), 'UNAUTHENTICATED')
    assert.deepEqual(
      (await list()).map(({ active }) => active),
      [false],
    )
  })
  test('refuses an unknown key and the key of another team', async () => {
    const { id } = await create()
    const answers = [
      await market.gql(REVOKE, { id: market.walletId }),
      await market.gql(REVOKE, { id }, await market.logIn(FOREIGN_TEAM)),
    ]
    assert.deepEqual(
      answers.map((answer) => [answer.errors?.[0]?.message, codeOf(answer)]),
      Array.from({ length: 2 }, () => ['Service API key not found', 'GRAPHQL_VALIDATION_FAILED']),
    )
  })
})

describe('service_api_keys.get_many', () => {
  test('lists the keys of one environment, newest first', async () => {
    const second = await market.createSandbox('second')
    const [one, two] = [await create({ name: 'one' }), await create({ name: 'two' })]
    await create({ environment_id: second.environmentId })
    assert.deepEqual(
      (await list()).map(({ id }) => id),
      [two.id, one.id],
    )
  })
  test('shows an expired key, and the key of a deleted wallet, as not active', async () => {
    const { environmentId, walletId } = market
    await market.issueKey({ environmentId, expiresAt: NOW })
    await market.issueKey({ environmentId, walletId })
    assert.deepEqual(
      (await list()).map(({ active }) => active),
      [true, false],
    )
    await market.project('wallet', walletId, [{ type: 'WalletDeleted', data: {} }])
    assert.deepEqual(
      (await list()).map(({ active }) => active),
      [false, false],
    )
  })
  test('refuses the environment of another team like an unknown one', async () => {
    const stranger = await market.logIn(FOREIGN_TEAM)
    const { errors } = await market.gql(LIST, { id: market.environmentId }, stranger)
    assert.equal(errors?.[0]?.message, 'Environment not found')
  })
})
