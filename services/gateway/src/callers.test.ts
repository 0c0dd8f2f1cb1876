import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { BUYER_URI, issued, placed, sells } from './fake-market.contract.ts'
import { at, type GraphqlAnswer, type Stage, stage } from './stage.contract.ts'

const ACCOUNT = '20000000-0000-4000-8000-000000000001'
const SESSION = '20000000-0000-4000-8000-000000000002'
const ORDER = '30000000-0000-4000-8000-000000000001'
const OTHER = '30000000-0000-4000-8000-000000000002'

type Kind = 'nobody' | 'session' | 'order' | 'token' | 'api'
const keys: Partial<Record<Kind, string>> = {}
let market: Stage

beforeAll(async () => {
  market = await stage({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0' },
  })
  market.answers(async (ask, options) => {
    if (ask.command.type === 'RequestQuote') await sells(market)(ask, options)
    else await market.outcome(ask, options, null)
  })
  const { ids, pepper } = market.gateway
  keys.session = newCredential('psk_', ids)
  keys.order = newCredential('pok_', ids)
  keys.token = newCredential('pdt_', ids)
  keys.api = newCredential('pak_', ids)
  const hash = (key: string) => hashCredential(pepper, key)
  const created = { emailHash: 'e'.repeat(64), emailRecord: ORDER, passwordRecord: ORDER }
  await market.happens('account', ACCOUNT, [
    { type: 'AccountCreated', data: created },
    { type: 'LoginRecorded', data: { tokenHash: hash(keys.token), expiresAt: Date.now() + 60_000 } },
    {
      type: 'ApiKeyCreated',
      data: { keyId: OTHER, keyHash: hash(keys.api), prefix: 'pak_abcd', suffix: 'wxyz', nameRecord: null, expiresAt: null },
    },
  ])
  await market.happens('order', ORDER, [
    placed({ buyer: { accountId: ACCOUNT, key: { kind: 'order', hash: hash(keys.order) } } }),
    issued,
  ])
  await market.happens('order', OTHER, [placed({ buyer: { accountId: ACCOUNT, key: null } }), issued])
  await market.happens('account', SESSION, [{ type: 'SessionOpened', data: { keyHash: hash(keys.session), orderId: null } }])
})
afterAll(() => market.close())

const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }'
const OFFER = `mutation O { market { offer { create(input: { pubkey: "${BUYER_URI.slice(0, 66)}", total_size: "10", min_size: "1", max_size: "2",
  min_block_length: 1, fee_rate: 1, base_fee: "0", fee_rate_cap: 1, base_fee_cap: "0" }) { id } } } }`
const get = (id: string) => `{ user { market { orders { get_order(order_id: "${id}") { id } } } } }`

/** What each credential may do: 'yes', or how it is turned away. */
const matrix: readonly [string, string, Readonly<Record<Kind, string>>][] = [
  [
    'the book',
    '{ market { offer { offers { total_count } } } }',
    { nobody: 'yes', session: 'yes', order: 'yes', token: 'yes', api: 'yes' },
  ],
  ['buy', BUY, { nobody: 'yes', session: 'yes', order: 'FORBIDDEN', token: 'yes', api: 'yes' }],
  [
    'the order of its key',
    get(ORDER),
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'yes', token: 'yes', api: 'yes' },
  ],
  [
    'another order of the account',
    get(OTHER),
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'Order not found', token: 'yes', api: 'yes' },
  ],
  [
    'its list',
    '{ user { transactions { transaction_list { total_count } } } }',
    { nobody: 'UNAUTHENTICATED', session: 'yes', order: 'yes', token: 'yes', api: 'yes' },
  ],
  [
    'its sales',
    '{ user { market { orders { sales { total } } } } }',
    { nobody: 'UNAUTHENTICATED', session: 'FORBIDDEN', order: 'FORBIDDEN', token: 'yes', api: 'yes' },
  ],
  [
    'an offer',
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
    'cancel',
    `mutation { market { order { cancel(input: { order_id: "${ORDER}" }) { success } } } }`,
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'yes', token: 'yes', api: 'yes' },
  ],
  [
    'cancel of another order',
    `mutation { market { order { cancel(input: { order_id: "${OTHER}" }) { success } } } }`,
    { nobody: 'UNAUTHENTICATED', session: 'Order not found', order: 'Order not found', token: 'yes', api: 'yes' },
  ],
  [
    'an order on an offer',
    `mutation { market { order { create(input: { offer_id: "${OTHER}", pubkey: "${BUYER_URI.slice(0, 66)}", size: "1" }) { id } } } }`,
    { nobody: 'UNAUTHENTICATED', session: 'yes', order: 'FORBIDDEN', token: 'yes', api: 'yes' },
  ],
  [
    'an API key',
    'mutation { account { create_api_key(input: {}) { key } } }',
    { nobody: 'UNAUTHENTICATED', session: 'FORBIDDEN', order: 'FORBIDDEN', token: 'INTERNAL_SERVER_ERROR', api: 'FORBIDDEN' },
  ],
  [
    'its keys',
    '{ account { api_keys { total_count } } }',
    { nobody: 'UNAUTHENTICATED', session: 'FORBIDDEN', order: 'FORBIDDEN', token: 'yes', api: 'FORBIDDEN' },
  ],
  [
    'who it is',
    '{ account { me { id } } }',
    { nobody: 'UNAUTHENTICATED', session: 'yes', order: 'FORBIDDEN', token: 'yes', api: 'yes' },
  ],
]

for (const [what, query, allowed] of matrix)
  describe(`${what}`, () => {
    for (const [kind, wanted] of Object.entries(allowed))
      test(`${kind}`, async () => {
        const answer = await market.gql(query, { input: { connection_uri: BUYER_URI, usd_cents: '500' } }, keys[kind as Kind]) // keys of the record
        const [error] = answer.errors ?? []
        assert.equal(answer.status, 200)
        if (wanted === 'yes') assert.equal(error, undefined)
        else assert.ok([error?.message, error?.extensions['code']].includes(wanted), JSON.stringify(error))
        if (wanted === 'UNAUTHENTICATED') assert.equal(error?.message, 'Unauthorized token')
      })
  })

test('the key of one order takes it back as its buyer does, and never as a seller of the same account', async () => {
  const before = market.sent.length
  await market.gql(`mutation { market { order { cancel(input: { order_id: "${ORDER}" }) { success } } } }`, {}, keys.order)
  assert.deepEqual(
    market.sent.slice(before).map(({ ask }) => [ask.id, ask.command.type]),
    [[ORDER, 'Withdraw']],
  )
})

test('the key of one order lists that order, and uses up nothing of its owner', async () => {
  const list = '{ user { transactions { transaction_list { list { id } } } } }'
  assert.deepEqual(at(await market.gql(list, {}, keys.order), 'user.transactions.transaction_list.list'), [{ id: ORDER }])
  for (let use = 0; use < market.gateway.config.dashboardPerMinute; use++)
    await market.gql('{ account { me { id } } }', {}, keys.order)
  assert.equal((await market.gql('{ account { me { id } } }', {}, keys.order)).status, 429)
  assert.equal((await market.gql('{ account { me { id } } }', {}, keys.token)).status, 200)
})

describe('a credential that is none fails even where none is needed', () => {
  const isTurnedAway = ({ status, errors, data }: GraphqlAnswer) => {
    assert.deepEqual([status, data], [200, undefined])
    assert.deepEqual([errors?.[0]?.message, errors?.[0]?.extensions['code']], ['Unauthorized token', 'UNAUTHENTICATED'])
  }
  const headers = ['Bearer nonsense', 'Bearer', 'Bearer ', '', 'Basic YTpi', 'nonsense', `Bearer ${'x'.repeat(5000)}`]
  for (const authorization of headers)
    test(`${JSON.stringify(authorization.slice(0, 20))}`, async () => {
      const response = await fetch(`${market.base}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: '{"query":"{ market { id } }"}',
      })
      isTurnedAway({ status: response.status, headers: response.headers, ...((await response.json()) as object) })
    })
  test('a good shape that nobody has', async () =>
    isTurnedAway(await market.gql('{ market { id } }', {}, newCredential('pak_', market.gateway.ids))))
  test('one that was revoked, at once', async () => {
    assert.equal((await market.gql('{ market { id } }', {}, keys.api)).errors, undefined)
    await market.happens('account', ACCOUNT, [{ type: 'ApiKeyRevoked', data: { keyId: OTHER } }])
    isTurnedAway(await market.gql('{ market { id } }', {}, keys.api))
  })
  test('one that expired, or logged out', async () => {
    const [gone, left] = [newCredential('pdt_', market.gateway.ids), newCredential('pdt_', market.gateway.ids)]
    const tokenHash = (key: string) => hashCredential(market.gateway.pepper, key)
    await market.happens('account', ACCOUNT, [
      { type: 'LoginRecorded', data: { tokenHash: tokenHash(gone), expiresAt: Date.now() - 1 } },
      { type: 'LoginRecorded', data: { tokenHash: tokenHash(left), expiresAt: Date.now() + 60_000 } },
      { type: 'LoggedOut', data: { tokenHash: tokenHash(left) } },
    ])
    isTurnedAway(await market.gql('{ market { id } }', {}, gone))
    isTurnedAway(await market.gql('{ market { id } }', {}, left))
  })
})
