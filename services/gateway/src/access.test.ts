import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { BUYER_URI, fakeHoldIssuedFact, createOrderPlacedFact, answerWithOrders } from './market/fake-market.fixture.ts'
import { readPath, type GraphqlResult, type GatewayHarness, openGatewayHarness, NOW } from './gateway-harness.fixture.ts'

const ACCOUNT = '20000000-0000-4000-8000-000000000001'
const SESSION = '20000000-0000-4000-8000-000000000002'
const ORDER = '30000000-0000-4000-8000-000000000001'
const OTHER = '30000000-0000-4000-8000-000000000002'

type Kind = 'nobody' | 'session' | 'order' | 'token' | 'api'
const keys: Partial<Record<Kind, string>> = {}
let market: GatewayHarness

beforeAll(async () => {
  market = await openGatewayHarness({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0' },
  })
  market.respondWith(async (ask, options) => {
    if (ask.command.type === 'RequestQuote') await answerWithOrders(market)(ask, options)
    else await market.projectOutcome(ask, options, null)
  })
  const { ids, pepper } = market.gateway
  keys.session = newCredential('psk_', ids)
  keys.order = newCredential('pok_', ids)
  keys.token = newCredential('pdt_', ids)
  keys.api = newCredential('pak_', ids)
  const hash = (key: string) => hashCredential(pepper, key)
  const created = { emailHash: 'e'.repeat(64), emailRecord: ORDER, passwordRecord: ORDER }
  await market.projectFacts('account', ACCOUNT, [
    { type: 'AccountCreated', data: created },
    { type: 'LoginRecorded', data: { tokenHash: hash(keys.token), expiresAt: NOW + 60_000 } },
    {
      type: 'ApiKeyCreated',
      data: { keyId: OTHER, keyHash: hash(keys.api), prefix: 'pak_abcd', suffix: 'wxyz', nameRecord: null, expiresAt: null },
    },
  ])
  await market.projectFacts('order', ORDER, [
    createOrderPlacedFact({ buyer: { accountId: ACCOUNT, key: { kind: 'order', hash: hash(keys.order) } } }),
    fakeHoldIssuedFact,
  ])
  await market.projectFacts('order', OTHER, [
    createOrderPlacedFact({ buyer: { accountId: ACCOUNT, key: null } }),
    fakeHoldIssuedFact,
  ])
  await market.projectFacts('account', SESSION, [{ type: 'SessionOpened', data: { keyHash: hash(keys.session), orderId: null } }])
})
afterAll(() => market.close())

const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }'
const OFFER = `mutation O { market { offer { create(input: { pubkey: "${BUYER_URI.slice(0, 66)}", total_size: "10", min_size: "1", max_size: "2",
  min_block_length: 1, fee_rate: 1, base_fee: "0", fee_rate_cap: 1, base_fee_cap: "0" }) { id } } } }`
const get = (id: string) => `{ user { market { orders { get_order(order_id: "${id}") { id } } } } }`

/** Result of each operation by credential: 'yes', or the code or message of the error. */
const matrix: readonly [string, string, Readonly<Record<Kind, string>>][] = [
  [
    'the offers of the market',
    '{ market { offer { offers { total_count } } } }',
    { nobody: 'yes', session: 'yes', order: 'yes', token: 'yes', api: 'yes' },
  ],
  ['liquidity.buy', BUY, { nobody: 'yes', session: 'yes', order: 'FORBIDDEN', token: 'yes', api: 'yes' }],
  [
    'the order of the order key',
    get(ORDER),
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'yes', token: 'yes', api: 'yes' },
  ],
  [
    'another order of the account',
    get(OTHER),
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'Order not found', token: 'yes', api: 'yes' },
  ],
  [
    'the list of transactions',
    '{ user { transactions { transaction_list { total_count } } } }',
    { nobody: 'UNAUTHENTICATED', session: 'yes', order: 'yes', token: 'yes', api: 'yes' },
  ],
  [
    'the sales of the account',
    '{ user { market { orders { sales { total } } } } }',
    { nobody: 'UNAUTHENTICATED', session: 'FORBIDDEN', order: 'FORBIDDEN', token: 'yes', api: 'yes' },
  ],
  [
    'the creation of an offer',
    OFFER,
    {
      nobody: 'UNAUTHENTICATED',
      session: 'FORBIDDEN',
      order: 'FORBIDDEN',
      token: 'GRAPHQL_VALIDATION_FAILED',
      api: 'GRAPHQL_VALIDATION_FAILED',
    },
  ],
  [
    'the cancellation of the order',
    `mutation { market { order { cancel(input: { order_id: "${ORDER}" }) { success } } } }`,
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'yes', token: 'yes', api: 'yes' },
  ],
  [
    'the cancellation of another order',
    `mutation { market { order { cancel(input: { order_id: "${OTHER}" }) { success } } } }`,
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'Order not found', token: 'yes', api: 'yes' },
  ],
  [
    'the creation of an order on an offer',
    `mutation { market { order { create(input: { offer_id: "${OTHER}", pubkey: "${BUYER_URI.slice(0, 66)}", size: "1" }) { id } } } }`,
    { nobody: 'UNAUTHENTICATED', session: 'yes', order: 'FORBIDDEN', token: 'yes', api: 'yes' },
  ],
  [
    'the creation of an API key',
    'mutation { account { create_api_key(input: {}) { key } } }',
    { nobody: 'UNAUTHENTICATED', session: 'FORBIDDEN', order: 'FORBIDDEN', token: 'INTERNAL_SERVER_ERROR', api: 'FORBIDDEN' },
  ],
  [
    'the list of API keys',
    '{ account { api_keys { total_count } } }',
    { nobody: 'UNAUTHENTICATED', session: 'FORBIDDEN', order: 'FORBIDDEN', token: 'yes', api: 'FORBIDDEN' },
  ],
  [
    "the caller's own account",
    '{ account { me { id } } }',
    { nobody: 'UNAUTHENTICATED', session: 'yes', order: 'FORBIDDEN', token: 'yes', api: 'yes' },
  ],
]

for (const [operation, query, expectations] of matrix)
  describe(`access to ${operation}`, () => {
    for (const [kind, expected] of Object.entries(expectations))
      test(`by ${kind}: ${expected}`, async () => {
        const answer = await market.gql(query, { input: { connection_uri: BUYER_URI, usd_cents: '500' } }, keys[kind as Kind]) // keys of the record
        const [error] = answer.errors ?? []
        assert.equal(answer.status, 200)
        if (expected === 'yes') assert.equal(error, undefined)
        else assert.ok([error?.message, error?.extensions['code']].includes(expected), JSON.stringify(error))
        if (expected === 'UNAUTHENTICATED') assert.equal(error?.message, 'Unauthorized token')
      })
  })

test('an order key withdraws its order as the buyer, and never as a seller of the same account', async () => {
  const before = market.sent.length
  await market.gql(`mutation { market { order { cancel(input: { order_id: "${ORDER}" }) { success } } } }`, {}, keys.order)
  assert.deepEqual(
    market.sent.slice(before).map(({ ask }) => [ask.id, ask.command.type]),
    [[ORDER, 'Withdraw']],
  )
})

test('an order key lists only its order, and its uses do not count against the limit of its account', async () => {
  const list = '{ user { transactions { transaction_list { list { id } } } } }'
  assert.deepEqual(readPath(await market.gql(list, {}, keys.order), 'user.transactions.transaction_list.list'), [{ id: ORDER }])
  for (let use = 0; use < market.gateway.config.dashboardPerMinute; use++)
    await market.gql('{ account { me { id } } }', {}, keys.order)
  assert.equal((await market.gql('{ account { me { id } } }', {}, keys.order)).status, 429)
  assert.equal((await market.gql('{ account { me { id } } }', {}, keys.token)).status, 200)
})

describe('a public operation refuses', () => {
  const assertUnauthenticated = ({ status, errors, data }: GraphqlResult) => {
    assert.deepEqual([status, data], [200, undefined])
    assert.deepEqual([errors?.[0]?.message, errors?.[0]?.extensions['code']], ['Unauthorized token', 'UNAUTHENTICATED'])
  }
  const headers = ['Bearer nonsense', 'Bearer', 'Bearer ', '', 'Basic YTpi', 'nonsense', `Bearer ${'x'.repeat(5000)}`]
  for (const authorization of headers)
    test(`the Authorization header ${JSON.stringify(authorization.slice(0, 20))}`, async () => {
      const response = await fetch(`${market.base}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: '{"query":"{ market { id } }"}',
      })
      assertUnauthenticated({ status: response.status, headers: response.headers, ...((await response.json()) as object) })
    })
  test('a well-formed key that does not exist', async () =>
    assertUnauthenticated(await market.gql('{ market { id } }', {}, newCredential('pak_', market.gateway.ids))))
  test('a revoked key at once', async () => {
    assert.equal((await market.gql('{ market { id } }', {}, keys.api)).errors, undefined)
    await market.projectFacts('account', ACCOUNT, [{ type: 'ApiKeyRevoked', data: { keyId: OTHER } }])
    assertUnauthenticated(await market.gql('{ market { id } }', {}, keys.api))
  })
  test('an expired token and a logged-out token', async () => {
    const [expiredToken, loggedOutToken] = [newCredential('pdt_', market.gateway.ids), newCredential('pdt_', market.gateway.ids)]
    const tokenHash = (key: string) => hashCredential(market.gateway.pepper, key)
    await market.projectFacts('account', ACCOUNT, [
      { type: 'LoginRecorded', data: { tokenHash: tokenHash(expiredToken), expiresAt: NOW - 1 } },
      { type: 'LoginRecorded', data: { tokenHash: tokenHash(loggedOutToken), expiresAt: NOW + 60_000 } },
      { type: 'LoggedOut', data: { tokenHash: tokenHash(loggedOutToken) } },
    ])
    assertUnauthenticated(await market.gql('{ market { id } }', {}, expiredToken))
    assertUnauthenticated(await market.gql('{ market { id } }', {}, loggedOutToken))
  })
  test('each operation of a document with an invalid credential, by null and an error with its path', async () => {
    const document =
      '{ __typename market { id offer { all: offers { total_count } } } payment { id wallet { find_many { total_count } } } }'
    const { status, data, errors = [] } = await market.gql(document, {}, 'nonsense')
    assert.equal(status, 200)
    assert.deepEqual(data, {
      __typename: 'Query',
      market: { id: 'market', offer: { all: null } },
      payment: { id: 'payment', wallet: { find_many: null } },
    })
    assert.deepEqual(
      errors.map(({ path, message, extensions }) => [path, message, extensions]),
      [
        [['market', 'offer', 'all'], 'Unauthorized token', { code: 'UNAUTHENTICATED' }],
        [['payment', 'wallet', 'find_many'], 'Unauthorized token', { code: 'UNAUTHENTICATED' }],
      ],
    )
    const input = { connection_uri: BUYER_URI, usd_cents: '500' }
    const sentBefore = market.sent.length
    const bought = await market.gql(BUY, { input }, 'nonsense')
    assert.deepEqual([bought.data, bought.errors?.[0]?.path], [{ liquidity: { buy: null } }, ['liquidity', 'buy']])
    assert.equal(market.sent.length, sentBefore)
  })
})
