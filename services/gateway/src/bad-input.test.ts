import { contractOf } from '@penstock/contracts/all.ts'
import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { candidateOf, orderTermsOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { BUYER_URI, placed } from './fake-market.contract.ts'
import { type Stage, stage } from './stage.contract.ts'

const ACCOUNT = candidateOf(1).sellerAccountId
const ORDER = '30000000-0000-4000-8000-000000000001'
const OFFER = '40000000-0000-4000-8000-000000000001'
const PUBKEY = BUYER_URI.slice(0, 66)
const OFF = {
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
const more = {
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
const input = (type: string, path: string, name: string, fields: string): string => {
  const above = path.split('.')
  return `mutation M($input: ${type}!) { ${above.join(' { ')} { ${name}(input: $input) { ${fields} } } ${'}'.repeat(above.length)}`
}

/** Every operation that takes more than an id, with input that is right. */
const operations: readonly [string, string, Record<string, unknown>][] = [
  [
    'buy',
    input('LiquidityOrderInput', 'liquidity', 'buy', 'id'),
    {
      connection_uri: BUYER_URI,
      usd_cents: '500',
      redirect_url: 'https://shop.example/',
      options: { private: true, rails_cluster_only: true, asset_id: 'x' },
    },
  ],
  ['offer.create', input('CreateOfferInput', 'market.offer', 'create', 'id'), { pubkey: PUBKEY, ...terms, ...more }],
  ['offer.update', input('UpdateOfferInput', 'market.offer', 'update', 'id'), { offer_id: OFFER, ...terms, ...more }],
  ['offer.toggle', input('ToggleOfferInput', 'market.offer', 'toggle', 'id'), { offer_id: OFFER }],
  [
    'offer.attest',
    input('AttestInput', 'market.offer', 'attest', 'id'),
    { pubkey: PUBKEY, confirmed_sats: '5', at: '2026-11-20T10:00:00.000Z', signature: 'd'.repeat(104) },
  ],
  [
    'order.create',
    input('CreateManualOrderInput', 'market.order', 'create', 'id'),
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
    input('CancelOrderInput', 'market.order', 'cancel', 'id'),
    { order_id: ORDER, cancellation_reason: 'UNABLE_TO_PAY' },
  ],
  [
    'seller.accept',
    input('SellerAcceptOrdersInput', 'market.order.seller', 'accept', 'id'),
    { order_id: ORDER, request: 'lnbcrt1' },
  ],
  [
    'seller.reject',
    input('SellerRejectOrdersInput', 'market.order.seller', 'reject', 'id'),
    { order_id: ORDER, reason: 'no coins' },
  ],
  [
    'seller.add_transaction',
    input('SellerAddTransactionInput', 'market.order.seller', 'add_transaction', 'id'),
    { order_id: ORDER, transaction: `${'a'.repeat(64)}:0`, attestation },
  ],
  [
    'account.create',
    input('CreateAccountInput', 'account', 'create', 'id'),
    { email: 'ann@example.org', password: 'correct horse battery' },
  ],
  [
    'account.login',
    input('LoginInput', 'account', 'login', 'id'),
    { email: 'ann@example.org', password: 'correct horse battery', pubkey: null, challenge: null, signature: null },
  ],
  [
    'account.create_api_key',
    input('CreateApiKeyInput', 'account', 'create_api_key', 'id'),
    { name: 'bot', expires_at: '2099-01-01T00:00:00.000Z' },
  ],
  [
    'account.node.connect',
    input('ConnectNodeInput', 'account.node', 'connect', 'id'),
    { pubkey: PUBKEY, challenge: 'c'.repeat(40), signature: 'd'.repeat(104) },
  ],
]

/** Wrong in type, size or sign for most fields; where one is right after all, the command must be right too. */
const rubbish: readonly unknown[] = [
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

let market: Stage
let token: string
beforeAll(async () => {
  market = await stage({ env: OFF })
  token = newCredential('pdt_', market.gateway.ids)
  const tokenHash = hashCredential(market.gateway.pepper, token)
  await market.happens('account', ACCOUNT, [
    { type: 'LoginRecorded', data: { tokenHash, expiresAt: 4e12 } },
    { type: 'NodeConnected', data: { pubkey: PUBKEY } },
  ])
  await market.happens('offer', OFFER, [{ type: 'OfferCreated', data: offerCreated }])
  await market.happens('order', ORDER, [placed({ ...orderTermsOf(true), candidate: candidateOf(1) })])
  // Whatever arrives must be what its receiver understands.
  market.answers((ask, options) => {
    const parsed = contractOf(ask.category).commands[ask.command.type]?.schema.safeParse(ask.command.data)
    assert.ok(parsed?.success, `${ask.command.type}: ${parsed?.error?.message}`)
    return market.outcome(ask, options, { code: 'REFUSED', message: 'The receiver refuses.' })
  })
})
afterAll(() => market.close())
beforeEach(() => market.logged.splice(0))

const offerCreated = {
  accountId: ACCOUNT,
  pubkey: PUBKEY,
  totalSizeSat: '5000000',
  minSizeSat: '500000',
  maxSizeSat: '2000000',
  conditions: [],
  assetId: null,
  autoAccept: true,
  promises: candidateOf(1).promises,
}

for (const [name, query, right] of operations)
  describe(`${name}`, () => {
    test('what is right reaches the receiver', async () => {
      const answer = await market.gql(query, { input: right }, token)
      const needsReal = name === 'seller.accept' || name === 'account.login'
      if (!needsReal) assert.match(answer.errors?.[0]?.message ?? '', /The receiver refuses|cannot be created/)
    })
    for (const path of paths(right))
      test(`${path.join('.')}`, async () => {
        await Promise.all(
          [...rubbish.map((value) => replaced(right, path, value)), without(right, path)].map((value) => refuses(query, value)),
        )
      })
    test('no input, and fields that do not exist', async () => {
      for (const value of [null, 5, 'x', [], { ...right, nope: 1 }]) await refuses(query, value)
    })
  })

async function refuses(query: string, value: unknown): Promise<void> {
  const answer = await market.gql(query, { input: value }, token)
  const shown = JSON.stringify(value)?.slice(0, 200)
  assert.equal(answer.status, 200, shown)
  assert.ok(answer.errors && answer.errors.length > 0, shown)
  for (const { message, extensions } of answer.errors) {
    assert.equal(extensions['code'], 'GRAPHQL_VALIDATION_FAILED', `${message} for ${shown}`)
    assert.ok(message.length > 5 && message.length <= 301 && !/sqlite|kysely|\bat \/|node_modules/i.test(message), message)
  }
  assert.deepEqual(market.logged, [], shown)
}

function paths(value: Record<string, unknown>, above: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = [...above, name]
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    return isObject ? [here, ...paths(inner as Record<string, unknown>, here)] : [here] // an object by the line above
  })
}

function replaced(value: Record<string, unknown>, [name = '', ...rest]: readonly string[], by: unknown): Record<string, unknown> {
  return { ...value, [name]: rest.length === 0 ? by : replaced(value[name] as Record<string, unknown>, rest, by) } // paths only go through objects
}

const without = (value: Record<string, unknown>, path: readonly string[]): Record<string, unknown> =>
  replaced(value, path, undefined)

test('a variable with more wrong in it than anybody counts', async () => {
  const [, query, right] = operations.find(([name]) => name === 'offer.create') ?? assert.fail()
  await refuses(query, { ...right, conditions: Array.from({ length: 100 }, () => 0) })
})

describe('sentences that are documented', () => {
  const BUY = operations[0]?.[1] ?? assert.fail()
  const message = async (query: string, variables: object) => (await market.gql(query, variables, token)).errors?.[0]?.message
  for (const uri of [
    'nonsense',
    '',
    `${'02'.padEnd(66, 'f')}@h:9735`,
    BUYER_URI.replace(/:\d+$/, ':0'),
    BUYER_URI.replace(/:\d+$/, ':99999'),
  ])
    test(`connection_uri ${uri.slice(0, 12)}…`, async () => {
      assert.equal(
        await message(BUY, { input: { connection_uri: uri, usd_cents: '500' } }),
        'connection_uri must be in <pubkey>@<host>:<port> format',
      )
    })
  const nameOf = (name: string) => operations.find(([one]) => one === name) ?? assert.fail()
  const refusal = (name: string, more: object) => message(nameOf(name)[1], { input: { ...nameOf(name)[2], ...more } })
  test('the fee of the funding is charged once to five times, or borne by the seller', async () => {
    for (const name of ['offer.create', 'offer.update']) {
      for (const onchain_multiplier of [0, 1, 2.5, 5])
        assert.equal(await refusal(name, { onchain_multiplier }), 'The receiver refuses.')
      for (const onchain_multiplier of [0.5, 5.1, -1])
        assert.match((await refusal(name, { onchain_multiplier })) ?? '', /^onchain_multiplier must be from 1 to 5, or 0/)
    }
  })
  test('a promise of at least a block, and of two years at most', async () => {
    for (const min_block_length of [0, 105_121])
      assert.equal(await refusal('offer.create', { min_block_length }), 'min_block_length must be from 1 to 105120')
    assert.equal(await refusal('offer.create', { min_block_length: 105_120 }), 'The receiver refuses.')
  })
  test('a day that is in no calendar', async () => {
    for (const expires_at of ['2030-02-31', '2031-02-29T00:00:00Z', '2030-04-31T10:00:00.000Z'])
      assert.match((await refusal('account.create_api_key', { expires_at })) ?? '', /^expires_at must be a time/)
    for (const expires_at of ['2032-02-29', '2030-04-30T10:00:00+02:00'])
      assert.equal(await refusal('account.create_api_key', { expires_at }), 'The receiver refuses.')
  })
  test('a password is counted as people count', async () => {
    const shown = (password: string) => refusal('account.create', { email: 'bob@example.org', password })
    const sent = market.sent.length
    await shown('🔑'.repeat(11))
    assert.equal(market.sent.length, sent)
    await shown('🔑'.repeat(12))
    assert.equal(market.sent.length, sent + 1)
  })
  test('a redirect_url without an end', async () => {
    const redirect_url = `https://shop.example/${'x'.repeat(2048)}`
    assert.equal(await refusal('buy', { redirect_url }), 'redirect_url must have at most 2048 characters')
  })
  test('usd_cents below 500', async () => {
    assert.match(
      (await message(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '499' } })) ?? '',
      /^usd_cents must be a whole number of at least 500/,
    )
  })
  test('an id that is no UUID', async () => {
    const GET = 'query G($id: String!) { user { market { orders { get_order(order_id: $id) { id } } } } }'
    for (const id of ['not-a-uuid', '', ' ', `${ORDER} `, `${ORDER}0`, '0'.repeat(36), 'x'.repeat(10_000)])
      assert.equal(await message(GET, { id }), 'Invalid ID', id)
    assert.equal(await message(GET, { id: '30000000-0000-4000-8000-00000000ffff' }), 'Order not found')
  })
  test('pages', async () => {
    const LIST = 'query L($page: PageInput) { user { transactions { transaction_list(page: $page) { total_count } } } }'
    for (const page of [{ limit: 0 }, { limit: -1 }, { limit: 101 }, { offset: -1 }])
      assert.match((await message(LIST, { page })) ?? '', /^page\.(limit|offset) must be/)
    for (const page of [{ limit: 1.5 }, { limit: '5' }, { limit: 1e12 }, 'x', { nope: 1 }])
      assert.match((await message(LIST, { page })) ?? '', /invalid value/)
    for (const page of [null, {}, { limit: null }, { limit: 100, offset: 2_147_483_647 }])
      assert.equal(await message(LIST, { page }), undefined)
  })
})

test('redirect addresses on this machine are for development', async () => {
  const development = await stage({ env: { ...OFF, PENSTOCK_ALLOW_LOCALHOST_REDIRECT: '1' } })
  development.answers((ask, options) => development.outcome(ask, options, { code: 'REFUSED', message: 'The receiver refuses.' }))
  const BUY = operations[0]?.[1] ?? assert.fail()
  const ask = async (at: Stage, redirect_url: string) =>
    (
      await at.gql(
        BUY,
        { input: { connection_uri: BUYER_URI, usd_cents: '500', redirect_url } },
        at === market ? token : undefined,
      )
    ).errors?.[0]?.message
  for (const url of ['http://localhost:3000/done', 'http://127.0.0.1/x', 'http://[::1]:5/']) {
    assert.equal(await ask(development, url), 'The receiver refuses.')
    assert.match((await ask(market, url)) ?? '', /must be an https address/)
  }
  assert.match((await ask(development, 'http://shop.example/')) ?? '', /must be an https address/)
  await development.close()
})
