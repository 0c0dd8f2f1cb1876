import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import type { ServiceCaller } from '../../access.ts'
import { readPath } from '../../gateway-harness.fixture.ts'
import { FOREIGN_TEAM, openPaymentsHarness, type PaymentsHarness, RECEIVE, TEAM } from '../payments.fixture.ts'

const CREATE =
  'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id name type wallet_count created_at checkout_url environment { id environment { name } } } } } }'
const FIND_ONE = 'query ($id: String!) { payment { environment { find_one(id: $id) { id name wallet_count } } } }'
const FIND_MANY =
  'query ($input: FindManyEnvironmentsInput) { payment { environment { find_many(input: $input) { total_count pagination { limit offset } list { id name type } } } } }'
const DELETE = 'mutation ($id: String!) { payment { environment { delete(id: $id) } } }'
const CREATE_WALLET =
  'mutation ($input: CreatePaymentsWalletInput!) { payment { wallet { create(input: $input) { id name asset_id team_id is_ready environment { id } balance { balance received sent } } } } }'
const WALLET = 'query ($id: String!) { payment { wallet { find_one(id: $id) { id name asset { symbol } } } } }'
const WALLETS =
  'query ($input: FindManyWalletsInput, $environment: String) { payment { wallet { find_many(input: $input) { total_count list(environment_id: $environment) { id name environment_id } } } } }'
const LIST_TRANSACTIONS =
  'query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { total_count } } } }'
const DELETE_WALLET = 'mutation ($id: String!) { payment { wallet { delete(id: $id) } } }'
const UNKNOWN = '70000000-0000-4000-8000-0000000000ff'
const BTC = 'b7c0b1de-0000-4000-8000-000000000001'

let payments: PaymentsHarness
beforeEach(async () => {
  payments = await openPaymentsHarness()
})
afterEach(() => payments.harness.close())

const messageOf = async (document: string, variables: object, bearer?: string): Promise<unknown[]> => {
  const { errors } = await payments.gql(document, variables, bearer)
  return [errors?.[0]?.message, errors?.[0]?.extensions['code']]
}
const createKey = (environmentId: string, walletId: string | null = null): ServiceCaller => ({
  keyId: UNKNOWN,
  teamId: TEAM,
  environmentId,
  walletId,
  permissions: [
    { resource: 'ENVIRONMENTS', level: 'WRITE' },
    { resource: 'WALLETS', level: 'WRITE' },
    { resource: 'PAYMENTS', level: 'WRITE' },
  ],
})
const codesOf = ({ errors = [] }: Awaited<ReturnType<PaymentsHarness['callWithKey']>>) =>
  errors.map(({ extensions }) => extensions['code'])

test('a created sandbox is answered with its first wallet in the read model', async () => {
  const answer = await payments.gql(CREATE, { input: { name: '  shop ', type: 'SANDBOX' } })
  const id = readPath(answer, 'payment.environment.create.id')
  assert.deepEqual(readPath(answer, 'payment.environment.create'), {
    id,
    name: 'shop',
    type: 'SANDBOX',
    wallet_count: 1,
    created_at: '2026-11-20T12:00:01.000Z',
    checkout_url: null,
    environment: { id, environment: { name: 'shop' } },
  })
  const wallets = await payments.gql(WALLETS, { input: { environment_id: id } })
  assert.equal(readPath(wallets, 'payment.wallet.find_many.list.0.name'), 'BTC')
  assert.equal(readPath(wallets, 'payment.wallet.find_many.total_count'), 1)
})

test('a LIVE environment is refused, and no command is sent', async () => {
  const [message, code] = await messageOf(CREATE, { input: { name: 'x', type: 'LIVE' } })
  assert.match(String(message), /not served yet/)
  assert.equal(code, 'GRAPHQL_VALIDATION_FAILED')
  const { environmentId } = await payments.createSandbox()
  const byKey = await payments.callWithKey(createKey(environmentId), CREATE, { input: { name: 'x', type: 'LIVE' } })
  assert.deepEqual(codesOf(byKey), ['FORBIDDEN'])
  assert.equal(payments.listSent('CreateEnvironment').length, 1)
})

test('a name has 1 to 100 code points', async () => {
  for (const name of ['', '   ', 'x'.repeat(101), '😀'.repeat(101)])
    assert.match(String((await messageOf(CREATE, { input: { name, type: 'SANDBOX' } }))[0]), /1 to 100/)
  await payments.createSandbox('😀'.repeat(100))
})

test('environments are listed newest first, a page at a time', async () => {
  for (const name of ['one', 'two', 'three']) await payments.createSandbox(name)
  await payments.createSandbox('foreign', await payments.logIn(FOREIGN_TEAM))
  const list = await payments.gql(FIND_MANY, { input: { page: { limit: 2, offset: 1 } } })
  assert.deepEqual(readPath(list, 'payment.environment.find_many.pagination'), { limit: 2, offset: 1 })
  assert.equal(readPath(list, 'payment.environment.find_many.total_count'), 3)
  assert.equal(readPath(list, 'payment.environment.find_many.list.0.name'), 'two')
  assert.equal(readPath(await payments.gql(FIND_MANY), 'payment.environment.find_many.list.0.name'), 'three')
})

test('a foreign environment or wallet is answered like an unknown one', async () => {
  const { environmentId, walletId } = await payments.createSandbox()
  const stranger = await payments.logIn(FOREIGN_TEAM)
  const environmentRefusal = ['Environment not found', 'GRAPHQL_VALIDATION_FAILED']
  const walletRefusal = ['Wallet not found', 'GRAPHQL_VALIDATION_FAILED']
  for (const [id, bearer] of [
    [environmentId, stranger],
    [UNKNOWN, payments.token],
  ] as const) {
    assert.deepEqual(await messageOf(FIND_ONE, { id }, bearer), environmentRefusal)
    assert.deepEqual(await messageOf(DELETE, { id }, bearer), environmentRefusal)
    assert.deepEqual(await messageOf(WALLETS, { input: { environment_id: id } }, bearer), environmentRefusal)
    assert.deepEqual(await messageOf(WALLETS, { environment: id }, bearer), environmentRefusal)
    const input = { name: 'x', environment_id: id, asset_id: BTC }
    assert.deepEqual(await messageOf(CREATE_WALLET, { input }, bearer), environmentRefusal)
  }
  for (const [id, bearer] of [
    [walletId, stranger],
    [UNKNOWN, payments.token],
  ] as const) {
    assert.deepEqual(await messageOf(WALLET, { id }, bearer), walletRefusal)
    assert.deepEqual(await messageOf(DELETE_WALLET, { id }, bearer), walletRefusal)
  }
  assert.deepEqual(await messageOf(FIND_ONE, { id: 'x' }), ['Invalid ID', 'GRAPHQL_VALIDATION_FAILED'])
})

test('a created wallet has its name, its asset and an empty balance', async () => {
  const { environmentId } = await payments.createSandbox()
  const input = { name: 'tips', environment_id: environmentId, asset_id: BTC }
  const created = await payments.gql(CREATE_WALLET, { input })
  const wallet = readPath(created, 'payment.wallet.create') as { id: string }
  assert.deepEqual(wallet, {
    id: wallet.id,
    name: 'tips',
    asset_id: BTC,
    team_id: TEAM,
    is_ready: true,
    environment: { id: environmentId },
    balance: { balance: '0', received: '0', sent: '0' },
  })
  assert.match(String((await messageOf(CREATE_WALLET, { input: { ...input, asset_id: 'x' } }))[0]), /public.assets.supported/)
})

test('wallets of all environments are listed without an input, or those of one environment', async () => {
  const [one, two] = [await payments.createSandbox('one'), await payments.createSandbox('two')]
  const all = await payments.gql(WALLETS)
  assert.equal(readPath(all, 'payment.wallet.find_many.total_count'), 2)
  assert.equal(readPath(all, 'payment.wallet.find_many.list.0.id'), two.walletId)
  const byArgument = await payments.gql(WALLETS, { environment: one.environmentId })
  assert.equal(readPath(byArgument, 'payment.wallet.find_many.list.length'), 1)
  assert.equal(readPath(byArgument, 'payment.wallet.find_many.list.0.id'), one.walletId)
})

test('a deleted environment hides its wallets and transactions', async () => {
  const { environmentId, walletId } = await payments.createSandbox()
  const received = await payments.gql(RECEIVE, { input: { wallet_id: walletId, amount: '1' } })
  const id = readPath(received, 'payment.transaction.create_receive.id')
  assert.equal(readPath(await payments.gql(DELETE, { id: environmentId }), 'payment.environment.delete'), true)
  const one = 'query ($id: String!) { payment { transaction { find_one(id: $id) { id } } } }'
  assert.deepEqual((await messageOf(FIND_ONE, { id: environmentId }))[0], 'Environment not found')
  assert.deepEqual((await messageOf(WALLET, { id: walletId }))[0], 'Wallet not found')
  assert.deepEqual((await messageOf(one, { id }))[0], 'Transaction not found')
  assert.deepEqual((await messageOf(RECEIVE, { input: { wallet_id: walletId, amount: '1' } }))[0], 'Wallet not found')
  assert.equal(readPath(await payments.gql(WALLETS), 'payment.wallet.find_many.total_count'), 0)
  assert.equal(readPath(await payments.gql(FIND_MANY), 'payment.environment.find_many.total_count'), 0)
})

test('a wallet that is projected after the deletion of its environment is hidden', async () => {
  const { environmentId } = await payments.createSandbox()
  await payments.gql(DELETE, { id: environmentId })
  const wallet = { environmentId, environmentType: 'SANDBOX', teamId: TEAM, assetId: BTC, nameRecord: null }
  await payments.project('wallet', UNKNOWN, [{ type: 'WalletCreated', data: wallet }])
  assert.deepEqual((await messageOf(WALLET, { id: UNKNOWN }))[0], 'Wallet not found')
})

test('a deleted wallet is not counted', async () => {
  const { environmentId, walletId } = await payments.createSandbox()
  assert.equal(readPath(await payments.gql(DELETE_WALLET, { id: walletId }), 'payment.wallet.delete'), true)
  const found = await payments.gql(FIND_ONE, { id: environmentId })
  assert.equal(readPath(found, 'payment.environment.find_one.wallet_count'), 0)
  assert.deepEqual((await messageOf(WALLET, { id: walletId }))[0], 'Wallet not found')
})

test('a refusal before the fact of its command keeps the name', async () => {
  const { environmentId } = await payments.createSandbox()
  payments.harness.respondWith((ask, options) => payments.harness.projectOutcome(ask, options, { code: 'X', message: 'No.' }))
  const refused = await messageOf(CREATE_WALLET, { input: { name: 'tips', environment_id: environmentId, asset_id: BTC } })
  assert.deepEqual(refused, ['No.', 'GRAPHQL_VALIDATION_FAILED'])
  const [sent] = payments.listSent('CreateWallet')
  assert.ok(sent)
  await payments.project('wallet', sent.id, [{ type: 'WalletCreated', data: sent.data }])
  assert.equal(await payments.call(WALLET, { id: sent.id }, 'payment.wallet.find_one.name'), 'tips')
})

test('a key sees the environment and the wallets that it is for', async () => {
  const [own, other] = [await payments.createSandbox('own'), await payments.createSandbox('other')]
  const key = createKey(own.environmentId)
  assert.equal(readPath(await payments.callWithKey(key, FIND_MANY), 'payment.environment.find_many.total_count'), 1)
  assert.deepEqual(codesOf(await payments.callWithKey(key, FIND_ONE, { id: own.environmentId })), [])
  assert.deepEqual(codesOf(await payments.callWithKey(key, FIND_ONE, { id: other.environmentId })), ['GRAPHQL_VALIDATION_FAILED'])
  assert.deepEqual(codesOf(await payments.callWithKey(key, WALLET, { id: other.walletId })), ['GRAPHQL_VALIDATION_FAILED'])
})

test('a key finds, lists and deletes the environments that it created, and does not see their wallets', async () => {
  const own = await payments.createSandbox('own')
  const key = createKey(own.environmentId)
  const read = async (document: string, variables: Record<string, unknown>, path: string): Promise<unknown> => {
    const answer = await payments.callWithKey(key, document, variables)
    assert.deepEqual(answer.errors, undefined)
    return readPath(answer, path)
  }
  const created = String(await read(CREATE, { input: { name: 'made', type: 'SANDBOX' } }, 'payment.environment.create.id'))
  await payments.createSandbox('of the dashboard')
  assert.equal(await read(FIND_ONE, { id: created }, 'payment.environment.find_one.name'), 'made')
  assert.equal(await read(FIND_MANY, {}, 'payment.environment.find_many.total_count'), 2)
  assert.equal(await read(FIND_MANY, {}, 'payment.environment.find_many.list.0.id'), created)
  for (const [document, variables] of [
    [WALLETS, { input: { environment_id: created } }],
    [CREATE_WALLET, { input: { name: 'x', environment_id: created, asset_id: BTC } }],
    [LIST_TRANSACTIONS, { input: { environment_id: created } }],
  ] as const)
    assert.deepEqual(codesOf(await payments.callWithKey(key, document, variables)), ['GRAPHQL_VALIDATION_FAILED'])
  const otherKey = { ...key, keyId: created }
  for (const document of [FIND_ONE, DELETE])
    assert.deepEqual(codesOf(await payments.callWithKey(otherKey, document, { id: created })), ['GRAPHQL_VALIDATION_FAILED'])
  assert.equal(await read(DELETE, { id: created }, 'payment.environment.delete'), true)
  assert.equal(await read(FIND_MANY, {}, 'payment.environment.find_many.total_count'), 1)
})

test('a key for one wallet is forbidden on environments, and lists its wallet alone', async () => {
  const { environmentId, walletId } = await payments.createSandbox()
  const input = { name: 'second', environment_id: environmentId, asset_id: BTC }
  await payments.gql(CREATE_WALLET, { input })
  const key = createKey(environmentId, walletId)
  for (const [document, variables] of [
    [FIND_ONE, { id: environmentId }],
    [FIND_MANY, {}],
    [DELETE, { id: environmentId }],
    [CREATE, { input: { name: 'x', type: 'SANDBOX' } }],
    [CREATE_WALLET, { input }],
  ] as const)
    assert.deepEqual(codesOf(await payments.callWithKey(key, document, variables)), ['FORBIDDEN'])
  const { data } = await payments.callWithKey(key, WALLETS, { input: { environment_id: environmentId } })
  assert.deepEqual(JSON.parse(JSON.stringify(data)), {
    payment: {
      wallet: { find_many: { total_count: 1, list: [{ id: walletId, name: 'BTC', environment_id: environmentId }] } },
    },
  })
})

test('the id of payment is the id of the team, or payment for a caller without a team', async () => {
  const { environmentId } = await payments.createSandbox()
  assert.equal(await payments.call('{ payment { id } }', {}, 'payment.id'), TEAM)
  assert.equal(readPath(await payments.harness.gql('{ payment { id } }'), 'payment.id'), 'payment')
  const { data } = await payments.callWithKey(createKey(environmentId), '{ payment { id wallet { id } } }')
  assert.deepEqual(JSON.parse(JSON.stringify(data)), { payment: { id: TEAM, wallet: { id: 'payment.wallet' } } })
})

test('the supported assets are public', async () => {
  const answer = await payments.harness.gql(
    '{ public { assets { supported { total_count list { id symbol precision type description website_url taproot_asset_details { id } prices { usd } } } } } taproot_assets { list { id symbol precision type group_key universe } } }',
  )
  assert.deepEqual(answer.data, {
    public: {
      assets: {
        supported: {
          total_count: 1,
          list: [
            {
              id: BTC,
              symbol: 'BTC',
              precision: 8,
              type: 'BASE_ASSET',
              description: 'Bitcoin, counted in satoshis',
              website_url: 'https://bitcoin.org',
              taproot_asset_details: null,
              prices: { usd: null },
            },
          ],
        },
      },
    },
    taproot_assets: { list: [{ id: BTC, symbol: 'BTC', precision: 8, type: 'BASE_ASSET', group_key: null, universe: null }] },
  })
})
