import { contractOf } from '@penstock/contracts/contracts.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import { createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { BUYER_URI, createOrderPlacedFact } from '../market/fake-market.fixture.ts'
import { type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'

const ACCOUNT = createCandidate(1).sellerAccountId
const ORDER = '30000000-0000-4000-8000-000000000001'
const OFFER = '40000000-0000-4000-8000-000000000001'
const PUBKEY = BUYER_URI.slice(0, 66)
const NO_LIMITS = {
  PENSTOCK_BUY_PER_MINUTE: '0',
  PENSTOCK_ORDERS_PER_IP: '0',
  PENSTOCK_ORDERS_PER_DESTINATION: '0',
  PENSTOCK_LOGIN_PER_MINUTE: '0',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
}

const terms = {
  total_size: '5000000',
  min_size: '500000',
  max_size: '2000000',
  min_block_length: 4320,
  fee_rate: 2000,
  base_fee: '500',
  fee_rate_cap: 500,
  base_fee_cap: '1000',
}
const optionalFields = {
  onchain_priority: 'LOW',
  onchain_multiplier: 2,
  conditions: [{ condition: 'NODE_CAPACITY', operator: 'EQUAL', value: '1' }],
  asset_id: 'x',
  auto_accept: true,
}
const attestation = {
  capacity: '1000000',
  node_keys: [PUBKEY, PUBKEY],
  funding_keys: [PUBKEY, PUBKEY],
  channel_type: 'anchors',
  push_sats: '0',
  reserve_sats: '10000',
  signature: 'd'.repeat(104),
}
const buildMutation = (type: string, path: string, name: string, fields: string): string => {
  const parentPath = path.split('.')
  return `mutation M($input: ${type}!) { ${parentPath.join(' { ')} { ${name}(input: $input) { ${fields} } } ${'}'.repeat(parentPath.length)}`
}

/** Every operation that takes more than an id, with valid input. */
const operations: readonly [string, string, Record<string, unknown>][] = [
  [
    'buy',
    buildMutation('LiquidityOrderInput', 'liquidity', 'buy', 'id'),
    {
      connection_uri: BUYER_URI,
      usd_cents: '500',
      redirect_url: 'https://shop.example/',
      options: { private: true, rails_cluster_only: true, asset_id: 'x' },
    },
  ],
  [
    'offer.create',
    buildMutation('CreateOfferInput', 'market.offer', 'create', 'id'),
    { pubkey: PUBKEY, ...terms, ...optionalFields },
  ],
  [
    'offer.update',
    buildMutation('UpdateOfferInput', 'market.offer', 'update', 'id'),
    { offer_id: OFFER, ...terms, ...optionalFields },
  ],
  ['offer.toggle', buildMutation('ToggleOfferInput', 'market.offer', 'toggle', 'id'), { offer_id: OFFER }],
  [
    'offer.attest',
    buildMutation('AttestInput', 'market.offer', 'attest', 'id'),
    { pubkey: PUBKEY, confirmed_sats: '5', at: '2026-11-20T10:00:00.000Z', signature: 'd'.repeat(104) },
  ],
  [
    'order.create',
    buildMutation('CreateManualOrderInput', 'market.order', 'create', 'id'),
    {
      offer_id: OFFER,
      pubkey: PUBKEY,
      size: '1000000',
      payment_method: 'SATS',
      referrer: 'friend',
      options: { asset_id: 'x', private: true },
    },
  ],
  [
    'order.cancel',
    buildMutation('CancelOrderInput', 'market.order', 'cancel', 'id'),
    { order_id: ORDER, cancellation_reason: 'UNABLE_TO_PAY' },
  ],
  [
    'seller.accept',
    buildMutation('SellerAcceptOrdersInput', 'market.order.seller', 'accept', 'id'),
    { order_id: ORDER, request: 'lnbcrt1' },
  ],
  [
    'seller.reject',
    buildMutation('SellerRejectOrdersInput', 'market.order.seller', 'reject', 'id'),
    { order_id: ORDER, reason: 'no coins' },
  ],
  [
    'seller.add_transaction',
    buildMutation('SellerAddTransactionInput', 'market.order.seller', 'add_transaction', 'id'),
    { order_id: ORDER, transaction: `${'a'.repeat(64)}:0`, attestation },
  ],
  [
    'account.create',
    buildMutation('CreateAccountInput', 'account', 'create', 'id'),
    { email: 'ann@example.org', password: 'correct horse battery' },
  ],
  [
    'account.login',
    buildMutation('LoginInput', 'account', 'login', 'id'),
    { email: 'ann@example.org', password: 'correct horse battery', pubkey: null, challenge: null, signature: null },
  ],
  [
    'account.create_api_key',
    buildMutation('CreateApiKeyInput', 'account', 'create_api_key', 'id'),
    { name: 'bot', expires_at: '2099-01-01T00:00:00.000Z' },
  ],
  [
    'account.node.connect',
    buildMutation('ConnectNodeInput', 'account.node', 'connect', 'id'),
    { pubkey: PUBKEY, challenge: 'c'.repeat(40), signature: 'd'.repeat(104) },
  ],
]

/** Values with a type, size or sign that most fields refuse. If a field accepts a value, the command must still be valid. */
const invalidValues: readonly unknown[] = [
  null,
  5,
  -1,
  0,
  1.5,
  1e300,
  true,
  {},
  [],
  [null],
  '',
  ' ',
  'x',
  '-1',
  '+1',
  '1.5',
  '1e3',
  '0x10',
  '007',
  '٣',
  '99999999999999999999',
  '0',
  'null',
  'undefined',
  '\u0000',
  '\ud800',
  '\r\nX: y',
  "'; drop table gateway_orders; --",
  '<script>',
  '../../etc/passwd',
  'z'.repeat(10_000),
  PUBKEY.replace(/^0./, '05'),
  `${'g'.repeat(64)}:0`,
  ORDER.replace('3', 'g'),
  '2026-13-45T99:99:99Z',
  `${PUBKEY}@h:0`,
  `${PUBKEY}@h:99999`,
  'http://shop.example',
  'javascript:alert(1)',
  'https://a:b@shop.example/',
]

let market: GatewayHarness
let token: string
beforeAll(async () => {
  market = await openGatewayHarness({ env: NO_LIMITS })
  token = newCredential('pdt_', market.gateway.ids)
  const tokenHash = hashCredential(market.gateway.pepper, token)
  await market.projectFacts('account', ACCOUNT, [
    { type: 'LoginRecorded', data: { tokenHash, expiresAt: 4e12 } },
    { type: 'NodeConnected', data: { pubkey: PUBKEY } },
  ])
  await market.projectFacts('offer', OFFER, [{ type: 'OfferCreated', data: offerCreated }])
  await market.projectFacts('order', ORDER, [createOrderPlacedFact({ ...createOrderTerms(true), candidate: createCandidate(1) })])
  // The receiver's contract must accept every command that arrives.
  market.respondWith((ask, options) => {
    const parsed = contractOf(ask.category).commands[ask.command.type]?.schema.safeParse(ask.command.data)
    assert.ok(parsed?.success, `${ask.command.type}: ${parsed?.error?.message}`)
    return market.projectOutcome(ask, options, { code: 'REFUSED', message: 'The receiver refuses.' })
  })
})
afterAll(() => market.close())
beforeEach(() => market.loggedErrors.splice(0))

const offerCreated = {
  accountId: ACCOUNT,
  pubkey: PUBKEY,
  totalSizeSat: '5000000',
  minSizeSat: '500000',
  maxSizeSat: '2000000',
  conditions: [],
  assetId: null,
  autoAccept: true,
  promises: createCandidate(1).promises,
}

for (const [name, query, validInput] of operations)
  describe(`${name}`, () => {
    test('valid input reaches the receiver', async () => {
      const answer = await market.gql(query, { input: validInput }, token)
      const needsRealValues = name === 'seller.accept' || name === 'account.login'
      if (!needsRealValues) assert.match(answer.errors?.[0]?.message ?? '', /The receiver refuses|cannot be created/)
    })
    for (const path of listPaths(validInput))
      test(`an invalid or missing ${path.join('.')} is refused`, async () => {
        await Promise.all(
          [...invalidValues.map((value) => replaceAt(validInput, path, value)), removeAt(validInput, path)].map((value) =>
            assertRefused(query, value),
          ),
        )
      })
    test('a missing input and an unknown field are refused', async () => {
      for (const value of [null, 5, 'x', [], { ...validInput, nope: 1 }]) await assertRefused(query, value)
    })
  })

async function assertRefused(query: string, value: unknown): Promise<void> {
  const answer = await market.gql(query, { input: value }, token)
  const shown = JSON.stringify(value)?.slice(0, 200)
  assert.equal(answer.status, 200, shown)
  assert.ok(answer.errors && answer.errors.length > 0, shown)
  for (const { message, extensions } of answer.errors) {
    assert.equal(extensions['code'], 'GRAPHQL_VALIDATION_FAILED', `${message} for ${shown}`)
    assert.ok(message.length > 5 && message.length <= 301 && !/sqlite|kysely|\bat \/|node_modules/i.test(message), message)
  }
  assert.deepEqual(market.loggedErrors, [], shown)
}

function listPaths(value: Record<string, unknown>, parentPath: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = [...parentPath, name]
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    return isObject ? [here, ...listPaths(inner as Record<string, unknown>, here)] : [here] // an object by the line above
  })
}

function replaceAt(
  value: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  by: unknown,
): Record<string, unknown> {
  return { ...value, [name]: rest.length === 0 ? by : replaceAt(value[name] as Record<string, unknown>, rest, by) } // paths only go through objects
}

const removeAt = (value: Record<string, unknown>, path: readonly string[]): Record<string, unknown> =>
  replaceAt(value, path, undefined)

test('a variable with a hundred errors is refused', async () => {
  const [, query, validInput] = operations.find(([name]) => name === 'offer.create') ?? assert.fail()
  await assertRefused(query, { ...validInput, conditions: Array.from({ length: 100 }, () => 0) })
})

describe('documented error messages', () => {
  const BUY = operations[0]?.[1] ?? assert.fail()
  const message = async (query: string, variables: object) => (await market.gql(query, variables, token)).errors?.[0]?.message
  for (const uri of [
    'nonsense',
    '',
    `${'02'.padEnd(66, 'f')}@h:9735`,
    BUYER_URI.replace(/:\d+$/, ':0'),
    BUYER_URI.replace(/:\d+$/, ':99999'),
  ])
    test(`connection_uri "${uri.slice(0, 12)}…" must have its format`, async () => {
      assert.equal(
        await message(BUY, { input: { connection_uri: uri, usd_cents: '500' } }),
        'connection_uri must be in <pubkey>@<host>:<port> format',
      )
    })
  const findCase = (name: string) => operations.find(([key]) => key === name) ?? assert.fail()
  const refusal = (name: string, more: object) => message(findCase(name)[1], { input: { ...findCase(name)[2], ...more } })
  test('onchain_multiplier must be 0 or from 1 to 5', async () => {
    for (const name of ['offer.create', 'offer.update']) {
      for (const onchain_multiplier of [0, 1, 2.5, 5])
        assert.equal(await refusal(name, { onchain_multiplier }), 'The receiver refuses.')
      for (const onchain_multiplier of [0.5, 5.1, -1])
        assert.match((await refusal(name, { onchain_multiplier })) ?? '', /^onchain_multiplier must be from 1 to 5, or 0/)
    }
  })
  test('min_block_length must be from one block to two years of blocks', async () => {
    for (const min_block_length of [0, 105_121])
      assert.equal(
        await refusal('offer.create', { min_block_length }),
        'min_block_length must be a whole number from 1 to 105120, in digits only',
      )
    assert.equal(await refusal('offer.create', { min_block_length: 105_120 }), 'The receiver refuses.')
  })
  test('expires_at must have a day that exists', async () => {
    for (const expires_at of ['', '2030-02-31', '2031-02-29T00:00:00Z', '2030-04-31T10:00:00.000Z'])
      assert.match((await refusal('account.create_api_key', { expires_at })) ?? '', /^expires_at must be a time/)
    for (const expires_at of ['2032-02-29', '2030-04-30T10:00:00+02:00'])
      assert.equal(await refusal('account.create_api_key', { expires_at }), 'The receiver refuses.')
  })
  test('the length of a password counts characters, not UTF-16 code units', async () => {
    const signUp = (password: string) => refusal('account.create', { email: 'bob@example.org', password })
    const sent = market.sent.length
    await signUp('🔑'.repeat(11))
    assert.equal(market.sent.length, sent)
    await signUp('🔑'.repeat(12))
    assert.equal(market.sent.length, sent + 1)
  })
  test('redirect_url must have at most 2048 characters', async () => {
    const redirect_url = `https://shop.example/${'x'.repeat(2048)}`
    assert.equal(await refusal('buy', { redirect_url }), 'redirect_url must have at most 2048 characters')
  })
  test('usd_cents must be at least 500', async () => {
    assert.match(
      (await message(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '499' } })) ?? '',
      /^usd_cents must be a whole number of at least 500/,
    )
  })
  test('an id must be a UUID', async () => {
    const GET = 'query G($id: String!) { user { market { orders { get_order(order_id: $id) { id } } } } }'
    for (const id of ['not-a-uuid', '', ' ', `${ORDER} `, `${ORDER}0`, '0'.repeat(36), 'x'.repeat(10_000)])
      assert.equal(await message(GET, { id }), 'Invalid ID', id)
    assert.equal(await message(GET, { id: '30000000-0000-4000-8000-00000000ffff' }), 'Order not found')
  })
  test('a page must have a valid limit and offset', async () => {
    const LIST = 'query L($page: PageInput) { user { transactions { transaction_list(page: $page) { total_count } } } }'
    for (const page of [{ limit: 0 }, { limit: -1 }, { limit: 101 }, { offset: -1 }])
      assert.match((await message(LIST, { page })) ?? '', /^page\.(limit|offset) must be/)
    for (const page of [{ limit: 1.5 }, { limit: '5' }, { limit: 1e12 }, 'x', { nope: 1 }])
      assert.match((await message(LIST, { page })) ?? '', /invalid value/)
    for (const page of [null, {}, { limit: null }, { limit: 100, offset: 2_147_483_647 }])
      assert.equal(await message(LIST, { page }), undefined)
  })
})

test('a redirect_url to this machine is accepted in development only', async () => {
  const development = await openGatewayHarness({ env: { ...NO_LIMITS, PENSTOCK_ALLOW_LOCALHOST_REDIRECT: '1' } })
  development.respondWith((ask, options) =>
    development.projectOutcome(ask, options, { code: 'REFUSED', message: 'The receiver refuses.' }),
  )
  const BUY = operations[0]?.[1] ?? assert.fail()
  const buy = async (at: GatewayHarness, redirect_url: string) =>
    (
      await at.gql(
        BUY,
        { input: { connection_uri: BUYER_URI, usd_cents: '500', redirect_url } },
        at === market ? token : undefined,
      )
    ).errors?.[0]?.message
  for (const url of ['http://localhost:3000/done', 'http://127.0.0.1/x', 'http://[::1]:5/']) {
    assert.equal(await buy(development, url), 'The receiver refuses.')
    assert.match((await buy(market, url)) ?? '', /must be an https address/)
  }
  assert.match((await buy(development, 'http://shop.example/')) ?? '', /must be an https address/)
  await development.close()
})
