import { buyerAccountId, createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { autoAcceptedFact, createOrderPlacedFact } from './fake-market.fixture.ts'
import { NOW, readPath, type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'

const { offerId, sellerAccountId: SELLER, sellerPubkey: PUBKEY } = createCandidate(1)
const STRANGER = '20000000-0000-4000-8000-0000000000ff'
const ORDER = '30000000-0000-4000-8000-000000000001'
const terms = { total_size: '5000000', min_size: '500000', max_size: '2000000', base_fee: '500', base_fee_cap: '1000' }
const numbers = { min_block_length: 4320, fee_rate: 2000, fee_rate_cap: 500 }

let market: GatewayHarness
let key: string
let strangersKey: string
beforeEach(async () => {
  market = await openGatewayHarness()
  ;[key, strangersKey] = [await market.apiKey(SELLER), await market.apiKey(STRANGER)]
  await market.projectFacts('account', SELLER, [{ type: 'NodeConnected', data: { pubkey: PUBKEY } }])
  market.respondWith(async (ask, options) => {
    if (ask.command.type === 'CreateOffer')
      await market.projectFacts('offer', ask.id, [{ type: 'OfferCreated', data: ask.command.data }], options.commandId)
    else if (ask.command.type === 'ToggleOffer')
      await market.projectFacts('offer', ask.id, [{ type: 'OfferDisabled', data: {} }], options.commandId)
    else await market.projectOutcome(ask, options, null)
  })
})
afterEach(() => market.close())

const CREATE = 'mutation O($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id success status } } } }'
const createOffer = (input: object = {}) => market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms, ...numbers, ...input } }, key)
const readRefusal = async (input: object): Promise<string> => (await createOffer(input)).errors?.[0]?.message ?? 'accepted'
const readLastCommand = (): unknown => market.sent.at(-1)?.ask.command.data

describe('amounts and block counts', () => {
  const texts = { min_block_length: '4320', fee_rate: '2000', fee_rate_cap: '500' }
  const values = { total_size: 5_000_000, min_size: 500_000, max_size: 2_000_000, base_fee: 500, base_fee_cap: 1000 }

  test('are accepted as strings and as numbers, in variables and in the document itself', async () => {
    assert.equal((await createOffer()).errors, undefined)
    const asShown = readLastCommand()
    assert.equal((await createOffer({ ...texts, ...values })).errors, undefined)
    assert.deepEqual(readLastCommand(), asShown)
    const literal = (fields: object) =>
      Object.entries(fields)
        .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
        .join(' ')
    for (const fields of [
      { ...terms, ...numbers },
      { ...texts, ...values },
    ]) {
      const input = `{ pubkey: "${PUBKEY}" ${literal(fields)} }`
      const answer = await market.gql(`mutation { market { offer { create(input: ${input}) { status } } } }`, {}, key)
      assert.equal(answer.errors, undefined)
      assert.deepEqual(readLastCommand(), asShown)
    }
  })

  test('are refused if they are not whole, or not exact as a JSON number', async () => {
    const digits = /^total_size must be a whole number of at least 1 and at most 2100000000000000, in digits only$/
    for (const total_size of ['5e6', '5000000.0', '', ' 5000000', '0x10', -5, '-5'])
      assert.match(await readRefusal({ total_size }), digits)
    for (const total_size of [2 ** 53, 1e300, 0.5])
      assert.match(await readRefusal({ total_size }), /A number must be whole, and at most \d+;/)
    for (const total_size of [true, ['1'], { sats: 1 }])
      assert.match(await readRefusal({ total_size }), /It must be a whole number/)
    assert.match(await readRefusal({ fee_rate: '1e3' }), /^fee_rate must be a whole number from 0 to 1000000, in digits only$/)
    assert.equal(market.sent.length, 0)
  })

  test('are accepted as the JSON number 10.0, which parses to 10', async () => {
    const body = JSON.stringify({ query: CREATE, variables: { input: { pubkey: PUBKEY, ...terms, ...numbers, base_fee: 10 } } })
    const response = await fetch(`${market.base}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: body.replace('"base_fee":10', '"base_fee":10.0'),
    })
    assert.ok(((await response.json()) as { data: { market: { offer: { create: object } } } }).data.market.offer.create)
    assert.equal((readLastCommand() as { promises: { baseFeeSat: string } }).promises.baseFeeSat, '10')
  })
})

test('conditions accept all six operators', async () => {
  const operators = ['EQUAL', 'NOT_EQUAL', 'GREATER_THAN', 'GREATER_THAN_OR_EQUAL_TO', 'LESS_THAN', 'LESS_THAN_OR_EQUAL_TO']
  const conditions = operators.map((operator, value) => ({ condition: 'NODE_CHANNELS', operator, value }))
  const id = String(readPath(await createOffer({ conditions }), 'market.offer.create.offer_id'))
  const query = `{ market { offer { offer(offer_id: "${id}") { conditions { condition operator value } } } } }`
  assert.deepEqual(
    readPath(await market.gql(query), 'market.offer.offer.conditions'),
    conditions.map((one) => ({ ...one, value: `${one.value}` })),
  )
})

test('a mutation of an offer returns its new status', async () => {
  const created = readPath(await createOffer(), 'market.offer.create') as { offer_id: string }
  assert.deepEqual(created, { offer_id: created.offer_id, success: true, status: 'ENABLED' })
  for (const [operation, type, input, status] of [
    ['update', 'UpdateOfferInput', { offer_id: created.offer_id, base_fee: 7 }, 'ENABLED'],
    ['toggle', 'ToggleOfferInput', { offer_id: created.offer_id }, 'DISABLED'],
  ] as const) {
    const query = `mutation M($input: ${type}!) { market { offer { ${operation}(input: $input) { offer_id success status } } } }`
    const answer = readPath(await market.gql(query, { input }, key), `market.offer.${operation}`)
    assert.deepEqual(answer, { offer_id: created.offer_id, success: true, status })
  }
})

const SATS = '{ satoshi { sats } }'
const LISTED = `id status is_owner filled_orders asset { symbol } node { pubkey alias sockets }
  total_amount ${SATS} locked_amount ${SATS} min_amount ${SATS} max_amount ${SATS}
  fees { fixed { sats } variable { sats } amboss { sats } } promises { min_block_length fee_rate_cap base_fee_cap }`
const OWN = `query O($page: PageInput, $filter: OfferFilterInput) { user { market { offers { offers(page: $page, filter: $filter) {
  total total_count list { ${LISTED} } } } } } }`
const GET = `query G($id: String!) { user { market { offers { get_offer(offer_id: $id) { ${LISTED} orders { total list { id status } } } } } } }`

/** Projects an offer that has sold one order and has reserved capacity for another order. */
async function projectOffer(): Promise<void> {
  const { promises } = createCandidate(1)
  const sizes = { totalSizeSat: '5000000', minSizeSat: '500000', maxSizeSat: '2000000' }
  const rest = { promises, conditions: [], assetId: null, autoAccept: false, accountId: SELLER, pubkey: PUBKEY }
  const reservation = { orderId: ORDER, attempt: 1, round: 0, sizeSat: '1000000' }
  await market.projectFacts('offer', offerId, [
    { type: 'OfferCreated', data: { ...sizes, ...rest } },
    { type: 'CapacityReserved', data: { ...reservation, candidate: createCandidate(1) } },
    { type: 'CapacityReserved', data: { ...reservation, orderId: STRANGER, candidate: createCandidate(1) } },
    { type: 'ReservationUsed', data: reservation },
  ])
  await market.projectFacts('order', ORDER, [createOrderPlacedFact({ ...createOrderTerms(true) }), autoAcceptedFact])
}

describe('an offer', () => {
  const shown = {
    id: offerId,
    status: 'ENABLED',
    filled_orders: 1,
    asset: { symbol: 'BTC' },
    node: { pubkey: PUBKEY, alias: null, sockets: [] },
    total_amount: { satoshi: { sats: '5000000' } },
    locked_amount: { satoshi: { sats: '2000000' } },
    min_amount: { satoshi: { sats: '500000' } },
    max_amount: { satoshi: { sats: '2000000' } },
    fees: { fixed: { sats: '500' }, variable: { sats: '2000' }, amboss: { sats: '500' } },
    promises: { min_block_length: 4320, fee_rate_cap: 500, base_fee_cap: '1000' },
  }

  test('is read by its owner with the selected fields, in the list and with its orders by its id', async () => {
    await projectOffer()
    assert.deepEqual(readPath(await market.gql(OWN, {}, key), 'user.market.offers.offers'), {
      total: 1,
      total_count: 1,
      list: [{ ...shown, is_owner: true }],
    })
    const orders = { total: 1, list: [{ id: ORDER, status: 'WAITING_FOR_SELLER_APPROVAL' }] }
    assert.deepEqual(readPath(await market.gql(GET, { id: offerId }, key), 'user.market.offers.get_offer'), {
      ...shown,
      is_owner: true,
      orders,
    })
  })

  test('is read by other callers with the same fields', async () => {
    await projectOffer()
    const query = `{ market { offer { offers { total pagination { limit offset } list { ${LISTED} created_at } } } } }`
    assert.deepEqual(readPath(await market.gql(query), 'market.offer.offers'), {
      total: 1,
      pagination: { limit: 10, offset: 0 },
      list: [{ ...shown, is_owner: false, created_at: new Date(NOW).toISOString() }],
    })
  })

  test('does not appear in the own offers of another account, and hides its orders from other callers', async () => {
    await projectOffer()
    assert.equal(readPath(await market.gql(OWN, {}, strangersKey), 'user.market.offers.offers.total'), 0)
    assert.equal((await market.gql(GET, { id: offerId }, strangersKey)).errors?.[0]?.message, 'Offer not found')
    for (const caller of [strangersKey, undefined]) {
      const query = `{ market { offer { offer(offer_id: "${offerId}") { is_owner orders { total list { id } } }
        offers { total list { is_owner } } } } }`
      const { offer, offers } = readPath(await market.gql(query, {}, caller), 'market.offer') as { offer: object; offers: object }
      assert.deepEqual(offer, { is_owner: false, orders: { total: 0, list: [] } })
      assert.deepEqual(offers, { total: 1, list: [{ is_owner: false }] })
    }
    assert.equal((await market.gql(OWN)).errors?.[0]?.message, 'Unauthorized token')
  })

  test("stays in its owner's list when it is disabled, and the list has filters by status and size", async () => {
    await projectOffer()
    await market.projectFacts('offer', offerId, [{ type: 'OfferDisabled', data: {} }])
    const total = async (filter: object) => readPath(await market.gql(OWN, { filter }, key), 'user.market.offers.offers.total')
    assert.deepEqual([await total({}), await total({ status: 'ENABLED' }), await total({ size: 500_000 })], [1, 0, 1])
    assert.equal(await total({ size: 499_999 }), 0)
  })
})

test('the record of an order contains its capacity, the parts of its price, and its offer', async () => {
  await projectOffer()
  const fields = `amount ${SATS} size asset { symbol } source { pubkey alias } promises { locked_fee_rate_cap { sats } locked_base_fee_cap { sats } }
    fees { seller { sats } buyer { sats } fixed { sats } variable { sats } amboss { sats } }`
  const query = `{ user { market { orders { sales { list { ${fields} } }
    get_order(order_id: "${ORDER}") { ${fields} simple_offer { id is_owner } payment { redirect_url } } } } } }`
  const { sales, get_order } = readPath(await market.gql(query, {}, key), 'user.market.orders') as {
    sales: object
    get_order: object
  }
  const order = {
    amount: { satoshi: { sats: '1000000' } },
    size: '1000000',
    asset: { symbol: 'BTC' },
    source: { pubkey: PUBKEY, alias: null },
    promises: { locked_fee_rate_cap: { sats: '500' }, locked_base_fee_cap: { sats: '1000' } },
    fees: {
      seller: { sats: '2500' },
      buyer: { sats: '3000' },
      fixed: { sats: '500' },
      variable: { sats: '2000' },
      amboss: { sats: '500' },
    },
  }
  assert.deepEqual(sales, { list: [order] })
  const purchases = `{ user { market { orders { purchases { list { ${fields} } } } } } }`
  const bought = await market.gql(purchases, {}, await market.apiKey(buyerAccountId))
  assert.deepEqual(readPath(bought, 'user.market.orders.purchases.list'), [order])
  assert.deepEqual(get_order, { ...order, simple_offer: { id: offerId, is_owner: true }, payment: { redirect_url: null } })
})
