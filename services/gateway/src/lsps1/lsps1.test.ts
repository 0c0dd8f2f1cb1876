import { join } from 'node:path'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { issued, sells } from '../fake-market.contract.ts'
import type { Wish } from '../operations/place-order.ts'
import { type Stage, stage } from '../stage.contract.ts'
import { openApi } from './openapi.ts'
import { lsps1Routes } from './routes.ts'
import type { CreateOrderBody, LspError, LspInfo, LspOrder } from './schemas.ts'

const BUYER = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const node = (digit: number) => pubkeyOf(new Uint8Array(32).fill(digit))
const uuid = (digit: number) => `10000000-0000-4000-8000-00000000000${digit}`
const terms = {
  totalSizeSat: '9000000',
  minSizeSat: '100000',
  maxSizeSat: '2000000',
  promises: { ...orderTermsOf().candidate.promises, minBlockLength: 13_140 },
  conditions: [],
  assetId: null,
  autoAccept: true,
}

let market: Stage
let sockets: Map<string, string[]>
const outside = {
  peers: { addresses: async (pubkey: string) => ({ alias: '', sockets: sockets.get(pubkey) ?? [] }) },
  chain: { feeRate: async () => 5 },
}
const open = (env: Record<string, string> = {}, ready?: () => string | undefined) =>
  stage({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0', ...env },
    mounts: [lsps1Routes(outside)],
    ...(ready && { ready }),
  })

/** A live seller; 1 is the most reliable and the dearest. */
const comes = async (digit: number, feeRatePpm = 3000 - digit * 100, more: object = {}) => {
  await market.happens('offer', uuid(digit), [
    {
      type: 'OfferCreated',
      data: { ...terms, promises: { ...terms.promises, feeRatePpm }, accountId: uuid(digit), pubkey: node(digit), ...more },
    },
  ])
  await market.happens('seller', node(digit), [
    { type: 'SellerAppeared', data: { accountId: uuid(digit), confirmedSat: '50000000', at: Date.now() } },
  ])
}
const sold = (digit: number) => ({
  type: 'OutcomeRecorded',
  data: { orderId: uuid(digit), attempt: 1, outcome: 'valid', at: Date.now() },
})

beforeEach(async () => {
  sockets = new Map([1, 2, 3, 4].map((digit) => [node(digit), [`10.0.0.${digit}:9735`]]))
  market = await open()
  market.answers(sells(market))
})
afterEach(() => market.close())

const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema(openApi(), 'api')
/** Every answer is checked against the document that clients are given. */
function conforms(name: string, body: unknown): void {
  const validate = ajv.getSchema(`api#/components/schemas/${name}`) ?? assert.fail(name)
  assert.ok(validate(body), JSON.stringify([validate.errors, body]))
}

type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T }
async function call<T>(
  path: string,
  name: string,
  init: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer<T>> {
  const response = await fetch(`${market.base}/api/lsp/v1/${path}`, { ...init, headers: { 'content-type': 'application/json' } })
  const body = (await response.json()) as T // checked in the next line
  conforms(response.ok ? name : 'LspError', body)
  return { status: response.status, headers: response.headers, body }
}
const info = (type = 'cheapest') => call<LspInfo>(`${type}/get_info`, 'LspInfo')
const create = <T = LspOrder>(body: object, type = 'cheapest') =>
  call<T>(`${type}/create_order`, 'LspOrder', { method: 'POST', body: JSON.stringify(body) })
const get = <T = LspOrder>(id: string, type = 'cheapest') => call<T>(`${type}/get_order?order_id=${id}`, 'LspOrder')

const wanted = (more: Partial<CreateOrderBody> & object = {}) => ({
  lsp_balance_sat: '500000',
  client_balance_sat: '0',
  required_channel_confirmations: 1,
  funding_confirms_within_blocks: 6,
  channel_expiry_blocks: 13_140,
  token: '',
  announce_channel: true,
  public_key: BUYER,
  ...more,
})
const wishes = (): readonly Wish[] =>
  market.sent.filter(({ ask }) => ask.command.type === 'RequestQuote').map(({ ask }) => ask.command.data as Wish)

describe('get_info', () => {
  test('bounds from the book, and the nodes that will open', async () => {
    await comes(1)
    await comes(2, 2000, { minSizeSat: '200000', maxSizeSat: '20000000' })
    const { status, body, headers } = await info()
    assert.equal(status, 200)
    assert.deepEqual(body, {
      min_required_channel_confirmations: 1,
      min_funding_confirms_within_blocks: 6,
      supports_zero_channel_reserve: false,
      max_channel_expiry_blocks: 13_140,
      min_initial_client_balance_sat: '0',
      max_initial_client_balance_sat: '0',
      min_initial_lsp_balance_sat: '100000',
      max_initial_lsp_balance_sat: '9000000',
      min_channel_balance_sat: '100000',
      max_channel_balance_sat: '9000000',
      uris: [`${node(2)}@10.0.0.2:9735`, `${node(1)}@10.0.0.1:9735`],
    })
    assert.equal(headers.get('access-control-allow-origin'), '*')
  })

  test('recommended ranks by score, cheapest by price; three at most, clear net first', async () => {
    for (const digit of [1, 2, 3, 4]) await comes(digit)
    await market.happens('seller', node(1), [sold(1), sold(1)])
    await market.happens('seller', node(2), [sold(2)])
    sockets.set(node(4), [`${'a'.repeat(56)}.onion:9735`, '10.0.0.4:9735'])
    const hosts = ({ body }: Answer<LspInfo>) => body.uris.map((uri) => uri.slice(67))
    assert.deepEqual(hosts(await info('recommended')).slice(0, 2), ['10.0.0.1:9735', '10.0.0.2:9735'])
    assert.deepEqual(hosts(await info()), ['10.0.0.4:9735', '10.0.0.3:9735', '10.0.0.2:9735', `${'a'.repeat(56)}.onion:9735`])
  })

  test('a choice stays for its epoch: free places are filled, others come only when all have gone', async () => {
    const named = async () => (await info()).body.uris.map((uri) => /0\.(\d):/.exec(uri)?.[1])
    await comes(3)
    assert.deepEqual(await named(), ['3'])
    await comes(4)
    await comes(1)
    assert.deepEqual(await named(), ['3', '4', '1'])
    await comes(2, 1)
    assert.deepEqual(await named(), ['3', '4', '1'])
    const silent = { type: 'SellerFellSilent', data: { lastSeenAt: 1 } }
    for (const digit of [3, 4]) await market.happens('seller', node(digit), [silent])
    assert.deepEqual(await named(), ['1'])
    await market.happens('seller', node(1), [silent])
    assert.deepEqual(await named(), ['2'])
  })

  test('nobody is named whose address is not known', async () => {
    sockets.delete(node(4))
    await comes(3)
    await comes(4)
    assert.deepEqual((await info()).body.uris, [`${node(3)}@10.0.0.3:9735`])
  })

  test('500 while nobody sells', async () => {
    const { status, body } = await call<LspError>('cheapest/get_info', 'LspInfo')
    assert.deepEqual([status, body.statusCode, body.error.code], [500, 500, 1])
  })
})

describe('create_order and get_order', () => {
  beforeEach(async () => {
    for (const digit of [1, 2, 3, 4]) await comes(digit)
  })

  test('an order with its invoice, by the sellers that were named', async () => {
    await info()
    const { status, body, headers } = await create(wanted({ token: 'from-a-friend', public_key: BUYER.toUpperCase() }))
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.deepEqual([body.order_state, body.payment.bolt11.state, body.channel], ['CREATED', 'EXPECT_PAYMENT', null])
    assert.deepEqual([body.token, body.lsp_balance_sat, body.announce_channel], ['from-a-friend', '500000', true])
    assert.deepEqual([body.payment.bolt11.fee_total_sat, body.payment.bolt11.order_total_sat], ['3000', '3000'])
    assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual((await get(body.order_id)).body, body)
    const [wish = assert.fail()] = wishes()
    assert.ok(!JSON.stringify(market.sent).includes('from-a-friend'))
    await market.gateway.records.delete(wish.record?.id ?? assert.fail())
    assert.equal((await get(body.order_id)).body.token, '')
    assert.deepEqual(wish.sellers, [4, 3, 2].map(node))
    assert.deepEqual(
      [wish.source, wish.sizeSat, wish.leaseBlocks, wish.requiredConfirmations, wish.fundingConfirmsWithinBlocks, wish.usdCents],
      ['lsps1-cheapest', '500000', 13_140, 1, 6, null],
    )
    assert.deepEqual(wish.destination, { pubkey: BUYER, sockets: [] })
    assert.equal(wish.buyer.key, null)
  })

  test('unknown fields, and token and refund address that are empty, null or missing', async () => {
    const bare = { ...wanted(), token: undefined }
    const empty = { ...bare, token: null, refund_onchain_address: null }
    for (const body of [bare, empty, { ...bare, refund_onchain_address: '', color: 'blue' }])
      assert.equal((await create(body)).body.token, '')
  })

  test('others than the named ones serve only whom gossip finds', async () => {
    const changes = async (digit: number, change: object) => {
      const promises = { ...terms.promises, feeRatePpm: 3000 - digit * 100 }
      await market.happens('offer', uuid(digit), [{ type: 'OfferUpdated', data: { ...terms, promises, ...change } }])
    }
    for (const digit of [2, 3]) await changes(digit, { maxSizeSat: '300000' })
    await changes(4, { minSizeSat: '800000' })
    const sellersFor = async (lsp_balance_sat: string) => {
      await create(wanted({ lsp_balance_sat }))
      return wishes().at(-1)?.sellers
    }
    const named = [4, 3, 2].map(node)
    assert.deepEqual(await sellersFor('500000'), named)
    sockets.set(BUYER, ['10.0.0.9:9735'])
    assert.equal(await sellersFor('500000'), null)
    assert.deepEqual(await sellersFor('200000'), named)
  })

  test('private channels are asked for as such', async () => {
    await create(wanted({ announce_channel: false }))
    assert.equal(wishes()[0]?.isPrivate, true)
  })

  test('held, paid and completed as the order goes on', async () => {
    const { order_id: id } = (await create(wanted())).body
    await market.happens('order', id, [
      { type: 'PaymentHeld', data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 } },
    ])
    assert.equal((await get(id)).body.payment.bolt11.state, 'HOLD')
    const outpoint = `${'ab'.repeat(32)}:1`
    await market.happens('order', id, [
      { type: 'OutpointNamed', data: { attempt: 1, outpoint } },
      { type: 'FundingSeen', data: { outpoint } },
    ])
    const { body } = await get(id)
    assert.deepEqual(
      [body.order_state, body.payment.bolt11.state, body.channel?.funding_outpoint],
      ['COMPLETED', 'HOLD', outpoint],
    )
    await market.happens('order', id, [{ type: 'OrderValid', data: { settledAt: Date.now() } }])
    assert.equal((await get(id)).body.payment.bolt11.state, 'PAID')
  })

  test('the other type and other doors do not know the order', async () => {
    const { order_id: id } = (await create(wanted())).body
    const bought = uuid(8)
    await market.happens('order', bought, [{ type: 'OrderPlaced', data: { ...orderTermsOf(), approveBefore: null } }, issued])
    for (const [unknown, type] of [
      [id, 'recommended'],
      [bought, 'cheapest'],
      ['00000000-0000-4000-8000-000000000000', 'cheapest'],
    ] as const) {
      const { status, body } = await get<LspError>(unknown, type)
      assert.deepEqual([status, body.statusCode, body.error.code], [404, 404, 101])
    }
    for (const query of ['get_order?order_id=nonsense', 'get_order', `get_order?order_id=${id}&order_id=${id}`]) {
      const { status, body } = await call<LspError>(`cheapest/${query}`, 'LspOrder')
      assert.deepEqual([status, body.error.code, body.error.data.property], [400, -32602, 'order_id'])
    }
  })

  const malformed: readonly [string, unknown, string][] = [
    ['no field', {}, 'lsp_balance_sat'],
    ['a list', [], 'body'],
    ['a text', 'order', 'body'],
    ['null', null, 'body'],
    ['letters for an amount', wanted({ lsp_balance_sat: 'x' }), 'lsp_balance_sat'],
    ['a number for an amount', { ...wanted(), lsp_balance_sat: 500_000 }, 'lsp_balance_sat'],
    ['a leading zero', wanted({ lsp_balance_sat: '0500000' }), 'lsp_balance_sat'],
    ['a fraction of a block', wanted({ channel_expiry_blocks: 1.5 }), 'channel_expiry_blocks'],
    ['no lease', wanted({ channel_expiry_blocks: 0 }), 'channel_expiry_blocks'],
    ['a key that is none', wanted({ public_key: 'zz' }), 'public_key'],
    ['a key beside the curve', wanted({ public_key: `02${'f'.repeat(64)}` }), 'public_key'],
    ['a text for a flag', { ...wanted(), announce_channel: 'yes' }, 'announce_channel'],
    ['a token without an end', wanted({ token: 'x'.repeat(513) }), 'token'],
  ]
  for (const [name, body, property] of malformed)
    test(`malformed: ${name}`, async () => {
      const { status, body: answer } = await create<LspError>(body as object)
      assert.deepEqual([status, answer.statusCode, answer.error.code, answer.error.data.property], [400, 400, -32602, property])
      assert.match(answer.message, new RegExp(`^${property === 'body' ? 'The body' : property} must be .*\\.$`))
      assert.equal(market.sent.length, 0)
    })

  const beside: readonly [string, Partial<CreateOrderBody>, string][] = [
    ['too little', { lsp_balance_sat: '1' }, 'min_initial_lsp_balance_sat'],
    ['too much', { lsp_balance_sat: '2000001' }, 'max_initial_lsp_balance_sat'],
    ['a balance for the client', { client_balance_sat: '1000' }, 'max_initial_client_balance_sat'],
    ['zero confirmations', { required_channel_confirmations: 0 }, 'min_required_channel_confirmations'],
    ['too fast', { funding_confirms_within_blocks: 5 }, 'min_funding_confirms_within_blocks'],
    ['too long', { channel_expiry_blocks: 13_141 }, 'max_channel_expiry_blocks'],
  ]
  for (const [name, more, option] of beside)
    test(`beside get_info: ${name}`, async () => {
      const { status, body } = await create<LspError>(wanted(more))
      assert.deepEqual([status, body.error.code, body.error.data.property], [400, 100, option])
      assert.equal(market.sent.length, 0)
    })

  test('refusals of the quote: an option, or nobody who serves', async () => {
    market.answers((ask, options) =>
      market.outcome(ask, options, { code: 'FUNDING_CONFIRMS_TOO_LATE', message: 'It would be held for too long.' }),
    )
    const late = await create<LspError>(wanted({ funding_confirms_within_blocks: 200, token: 'from-a-friend' }))
    assert.equal(await market.gateway.records.get(wishes().at(-1)?.record?.id ?? assert.fail()), undefined)
    assert.deepEqual(
      [late.status, late.body.error.code, late.body.error.data.property],
      [400, 100, 'min_funding_confirms_within_blocks'],
    )
    market.answers((ask, options) =>
      market.outcome(ask, options, { code: 'NO_SELLER', message: 'No live seller can serve this order now; try again later.' }),
    )
    const nobody = await create<LspError>(wanted())
    assert.deepEqual([nobody.status, nobody.body.error.code], [500, 1])
  })

  test('an order that ends before its invoice says why', async () => {
    market.answers(async (ask) => {
      await market.happens('order', ask.id, [
        { type: 'OrderPlaced', data: { ...orderTermsOf(), approveBefore: null } },
        { type: 'BuyerRejected', data: { reason: 'The node does not answer at 10.0.0.9:9735.' } },
      ])
    })
    const { status, body } = await create<LspError>(wanted())
    assert.deepEqual([status, body.error.code, body.message], [500, 1, 'The node does not answer at 10.0.0.9:9735.'])
  })
})

describe('HTTP', () => {
  const raw = (path: string, init: RequestInit) => fetch(`${market.base}/api/lsp/v1/${path}`, init)
  const json = { 'content-type': 'application/json' }

  test('broken JSON 400, another type 415, too large 413', async () => {
    const bodies: readonly [number, RequestInit][] = [
      [400, { headers: json, body: '{"lsp' }],
      [400, { headers: json, body: '' }],
      [415, { headers: { 'content-type': 'text/plain' }, body: '{}' }],
      [415, { headers: { 'content-type': 'application/json; charset=latin9' }, body: '{}' }],
      [413, { headers: json, body: JSON.stringify({ token: 'x'.repeat(70_000) }) }],
    ]
    for (const [status, init] of bodies) {
      const response = await raw('cheapest/create_order', { method: 'POST', ...init })
      const body = (await response.json()) as LspError
      conforms('LspError', body)
      assert.deepEqual([response.status, body.statusCode, body.error.code], [status, status, -32602])
    }
  })

  test('405 names the method that belongs here; preflights and unknown addresses', async () => {
    for (const [path, method, allow] of [
      ['cheapest/create_order', 'GET', 'POST, OPTIONS'],
      ['cheapest/get_info', 'POST', 'GET, HEAD, OPTIONS'],
      ['openapi.json', 'DELETE', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const response = await raw(path, { method })
      assert.deepEqual([response.status, response.headers.get('allow')], [405, allow])
      conforms('LspError', await response.json())
    }
    const preflight = await raw('cheapest/create_order', { method: 'OPTIONS' })
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
    const wrong = { 'best/get_info': 'type', 'cheapest/nothing': 'path', '': 'type' }
    for (const [path, property] of Object.entries(wrong)) {
      const { status, body } = await call<LspError>(path, 'LspInfo')
      assert.deepEqual([status, body.error.data.property], [404, property])
    }
  })

  test('429 with the time to wait', async () => {
    await market.close()
    market = await open({ PENSTOCK_BUY_PER_MINUTE: '1' })
    market.answers(sells(market))
    await comes(1)
    assert.equal((await create(wanted())).status, 200)
    const { status, body, headers } = await create<LspError>(wanted())
    assert.deepEqual([status, body.statusCode], [429, 429])
    assert.ok(Number(headers.get('retry-after')) > 0)
    assert.match(headers.get('ratelimit-policy') ?? '', /^"buy";q=1/)
  })

  test('an operator may limit how often an order is asked for', async () => {
    await market.close()
    market = await open({ PENSTOCK_ORDER_POLLS_PER_MINUTE: '2' })
    market.answers(sells(market))
    await comes(1)
    const [one, two] = [(await create(wanted())).body.order_id, (await create(wanted())).body.order_id]
    const statuses = [await get(one), await get(one), await get(two), await get(one)].map(({ status }) => status)
    assert.deepEqual(statuses, [200, 200, 200, 429])
  })

  test('503 while starting', async () => {
    await market.close()
    market = await open({}, () => 'the read models')
    const { status, headers } = await info()
    assert.deepEqual([status, headers.get('retry-after')], [503, '1'])
  })

  test('the document is served, and is the one that is committed', async () => {
    const response = await raw('openapi.json', {})
    assert.deepEqual(await response.json(), JSON.parse(JSON.stringify(openApi())))
    const committed = join(import.meta.dirname, '../../../../docs/api/lsps1.openapi.json')
    await expect(`${JSON.stringify(openApi(), null, 2)}\n`).toMatchFileSnapshot(committed)
  })
})
