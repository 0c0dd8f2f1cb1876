import { NOW } from '../gateway-harness.fixture.ts'
import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'vitest'
import { fakeHoldIssuedFact } from '../market/fake-market.fixture.ts'
import {
  type LspResponse,
  BUYER_PUBKEY,
  callLsp,
  addSeller,
  postOrder,
  useLspHarness,
  fetchOrder,
  fetchInfo,
  lspHarness,
  makeNodePubkey,
  nodeSockets,
  makeValidOutcome,
  sampleOfferTerms,
  makeUuid,
  makeOrderBody,
  listQuoteRequests,
} from './lsps1.fixture.ts'
import type { CreateOrderBody, LspError, LspInfo } from './schemas.ts'

useLspHarness()

describe('get_info', () => {
  test('returns bounds from the offers, and the addresses of the nodes that will open', async () => {
    await addSeller(1)
    await addSeller(2, 2000, { minSizeSat: '200000', maxSizeSat: '20000000' })
    const { status, body, headers } = await fetchInfo()
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
      uris: [`${makeNodePubkey(2)}@10.0.0.2:9735`, `${makeNodePubkey(1)}@10.0.0.1:9735`],
    })
    assert.equal(headers.get('access-control-allow-origin'), '*')
  })

  test('ranks recommended by score and cheapest by price, with at most three sellers and clear-net addresses first', async () => {
    for (const digit of [1, 2, 3, 4]) await addSeller(digit)
    await lspHarness.projectFacts('seller', makeNodePubkey(1), [makeValidOutcome(1), makeValidOutcome(1)])
    await lspHarness.projectFacts('seller', makeNodePubkey(2), [makeValidOutcome(2)])
    nodeSockets.set(makeNodePubkey(4), [
      'kokqrpvmxzonckjv4k3scvlshfsstevh7co6aqecetlb7sr7mguawjyd.onion:9735',
      '[2001:db8::4]:9735',
      'four.example.org:9735',
      '10.0.0.4:9735',
    ])
    const hosts = ({ body }: LspResponse<LspInfo>) => body.uris.map((uri) => uri.slice(67))
    assert.deepEqual(hosts(await fetchInfo('recommended')).slice(0, 2), ['10.0.0.1:9735', '10.0.0.2:9735'])
    assert.deepEqual(hosts(await fetchInfo()), [
      '10.0.0.4:9735',
      '10.0.0.3:9735',
      '10.0.0.2:9735',
      'four.example.org:9735',
      '[2001:db8::4]:9735',
      'kokqrpvmxzonckjv4k3scvlshfsstevh7co6aqecetlb7sr7mguawjyd.onion:9735',
    ])
  })

  test('keeps its sellers for an epoch, fills free places, and adds others only when no published seller is live', async () => {
    const readDigits = async () => (await fetchInfo()).body.uris.map((uri) => /0\.(\d):/.exec(uri)?.[1])
    await addSeller(3)
    assert.deepEqual(await readDigits(), ['3'])
    await addSeller(4)
    await addSeller(1)
    assert.deepEqual(await readDigits(), ['3', '4', '1'])
    await addSeller(2, 1)
    assert.deepEqual(await readDigits(), ['3', '4', '1'])
    const silent = { type: 'SellerFellSilent', data: { lastSeenAt: 1 } }
    for (const digit of [3, 4]) await lspHarness.projectFacts('seller', makeNodePubkey(digit), [silent])
    assert.deepEqual(await readDigits(), ['1'])
    await lspHarness.projectFacts('seller', makeNodePubkey(1), [silent])
    assert.deepEqual(await readDigits(), ['2'])
  })

  test('omits a seller without a known address', async () => {
    nodeSockets.delete(makeNodePubkey(4))
    await addSeller(3)
    await addSeller(4)
    assert.deepEqual((await fetchInfo()).body.uris, [`${makeNodePubkey(3)}@10.0.0.3:9735`])
  })

  test('answers with status 500 while no seller can serve', async () => {
    const { status, body } = await callLsp<LspError>('cheapest/get_info', 'LspInfo')
    assert.deepEqual([status, body.statusCode, body.error.code], [500, 500, 1])
  })
})

describe('create_order and get_order', () => {
  beforeEach(async () => {
    for (const digit of [1, 2, 3, 4]) await addSeller(digit)
  })

  test('return the order with its invoice, for the published sellers', async () => {
    await fetchInfo()
    const { status, body, headers } = await postOrder(
      makeOrderBody({ token: 'from-a-friend', public_key: BUYER_PUBKEY.toUpperCase() }),
    )
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.deepEqual([body.order_state, body.payment.bolt11.state, body.channel], ['CREATED', 'EXPECT_PAYMENT', null])
    assert.deepEqual([body.token, body.lsp_balance_sat, body.announce_channel], ['from-a-friend', '500000', true])
    assert.deepEqual([body.payment.bolt11.fee_total_sat, body.payment.bolt11.order_total_sat], ['3000', '3000'])
    assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual((await fetchOrder(body.order_id)).body, body)
    const [data = assert.fail()] = listQuoteRequests()
    assert.ok(!JSON.stringify(lspHarness.sent).includes('from-a-friend'))
    await lspHarness.gateway.records.delete(data.record?.id ?? assert.fail())
    assert.equal((await fetchOrder(body.order_id)).body.token, '')
    assert.deepEqual(data.sellers, [4, 3, 2].map(makeNodePubkey))
    assert.deepEqual(
      [data.source, data.sizeSat, data.leaseBlocks, data.requiredConfirmations, data.fundingConfirmsWithinBlocks, data.usdCents],
      ['lsps1-cheapest', '500000', 13_140, 1, 6, null],
    )
    assert.deepEqual(data.destination, { pubkey: BUYER_PUBKEY, sockets: [] })
    assert.equal(data.buyer.key, null)
  })

  test('accept unknown fields, and a token and refund address that are empty, null or missing', async () => {
    const bare = { ...makeOrderBody(), token: undefined }
    const empty = { ...bare, token: null, refund_onchain_address: null }
    for (const body of [bare, empty, { ...bare, refund_onchain_address: '', color: 'blue' }])
      assert.equal((await postOrder(body)).body.token, '')
  })

  test('allow sellers that are not published only if gossip has an address of the buyer', async () => {
    const changes = async (digit: number, change: object) => {
      const promises = { ...sampleOfferTerms.promises, feeRatePpm: 3000 - digit * 100 }
      await lspHarness.projectFacts('offer', makeUuid(digit), [
        { type: 'OfferUpdated', data: { ...sampleOfferTerms, promises, ...change } },
      ])
    }
    for (const digit of [2, 3]) await changes(digit, { maxSizeSat: '300000' })
    await changes(4, { minSizeSat: '800000' })
    const sellersFor = async (lsp_balance_sat: string) => {
      await postOrder(makeOrderBody({ lsp_balance_sat }))
      return listQuoteRequests().at(-1)?.sellers
    }
    const published = [4, 3, 2].map(makeNodePubkey)
    assert.deepEqual(await sellersFor('500000'), published)
    nodeSockets.set(BUYER_PUBKEY, ['10.0.0.9:9735'])
    assert.equal(await sellersFor('500000'), null)
    assert.deepEqual(await sellersFor('200000'), published)
  })

  test('have the same routes below the path that wallets append to a host', async () => {
    await addSeller(1)
    const longer = 'cheapest/api/v1'
    const { order_id: id } = (await postOrder(makeOrderBody(), longer)).body
    assert.deepEqual((await fetchOrder(id, longer)).body, (await fetchOrder(id)).body)
    assert.deepEqual((await fetchInfo(longer)).body, (await fetchInfo()).body)
    assert.equal((await fetchInfo(`${longer}/api/v1`)).status, 404)
  })
  test('request a private channel if announce_channel is false', async () => {
    await postOrder(makeOrderBody({ announce_channel: false }))
    assert.equal(listQuoteRequests()[0]?.isPrivate, true)
  })

  test('show the payment as held and paid, and the order as completed', async () => {
    const { order_id: id } = (await postOrder(makeOrderBody())).body
    await lspHarness.projectFacts('order', id, [
      { type: 'PaymentHeld', data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 } },
    ])
    assert.equal((await fetchOrder(id)).body.payment.bolt11.state, 'HOLD')
    const outpoint = `${'ab'.repeat(32)}:1`
    await lspHarness.projectFacts('order', id, [
      { type: 'OutpointAccepted', data: { attempt: 1, outpoint } },
      { type: 'FundingSeenRecorded', data: { outpoint } },
    ])
    const { body } = await fetchOrder(id)
    assert.deepEqual(
      [body.order_state, body.payment.bolt11.state, body.channel?.funding_outpoint],
      ['COMPLETED', 'HOLD', outpoint],
    )
    await lspHarness.projectFacts('order', id, [{ type: 'OrderValid', data: { settledAt: NOW } }])
    assert.equal((await fetchOrder(id)).body.payment.bolt11.state, 'PAID')
  })

  test('answer with status 404 for an order of the other type or of another interface', async () => {
    const { order_id: id } = (await postOrder(makeOrderBody())).body
    const otherOrder = makeUuid(8)
    await lspHarness.projectFacts('order', otherOrder, [
      { type: 'OrderPlaced', data: { ...createOrderTerms(), approveBefore: null } },
      fakeHoldIssuedFact,
    ])
    for (const [unknown, type] of [
      [id, 'recommended'],
      [otherOrder, 'cheapest'],
      ['00000000-0000-4000-8000-000000000000', 'cheapest'],
    ] as const) {
      const { status, body } = await fetchOrder<LspError>(unknown, type)
      assert.deepEqual([status, body.statusCode, body.error.code], [404, 404, 101])
    }
    for (const query of ['get_order?order_id=nonsense', 'get_order', `get_order?order_id=${id}&order_id=${id}`]) {
      const { status, body } = await callLsp<LspError>(`cheapest/${query}`, 'LspOrder')
      assert.deepEqual([status, body.error.code, body.error.data.property], [400, -32602, 'order_id'])
    }
  })

  const malformed: readonly [string, unknown, string][] = [
    ['without fields', {}, 'lsp_balance_sat'],
    ['that is a list', [], 'body'],
    ['that is a string', 'order', 'body'],
    ['that is null', null, 'body'],
    ['with a negative amount', makeOrderBody({ lsp_balance_sat: '-1' }), 'lsp_balance_sat'],
    ['with letters for an amount', makeOrderBody({ lsp_balance_sat: 'x' }), 'lsp_balance_sat'],
    ['with a number for an amount', { ...makeOrderBody(), lsp_balance_sat: 500_000 }, 'lsp_balance_sat'],
    ['with a leading zero', makeOrderBody({ lsp_balance_sat: '0500000' }), 'lsp_balance_sat'],
    ['with a fraction of a block', makeOrderBody({ channel_expiry_blocks: 1.5 }), 'channel_expiry_blocks'],
    ['with a lease of 0', makeOrderBody({ channel_expiry_blocks: 0 }), 'channel_expiry_blocks'],
    ['with negative confirmations', makeOrderBody({ required_channel_confirmations: -1 }), 'required_channel_confirmations'],
    ['with 65,536 confirmations', makeOrderBody({ required_channel_confirmations: 65_536 }), 'required_channel_confirmations'],
    ['with a negative number of blocks', makeOrderBody({ funding_confirms_within_blocks: -1 }), 'funding_confirms_within_blocks'],
    ['with a lease of 2^32 blocks', makeOrderBody({ channel_expiry_blocks: 2 ** 32 }), 'channel_expiry_blocks'],
    ['with a malformed key', makeOrderBody({ public_key: 'zz' }), 'public_key'],
    ['with a key outside the curve', makeOrderBody({ public_key: `02${'f'.repeat(64)}` }), 'public_key'],
    ['with a string for a flag', { ...makeOrderBody(), announce_channel: 'yes' }, 'announce_channel'],
    ['with a token of 513 characters', makeOrderBody({ token: 'x'.repeat(513) }), 'token'],
  ]
  for (const [name, body, property] of malformed)
    test(`refuse a body ${name}`, async () => {
      const { status, body: answer } = await postOrder<LspError>(body as object)
      assert.deepEqual([status, answer.statusCode, answer.error.code, answer.error.data.property], [400, 400, -32602, property])
      assert.match(answer.message, new RegExp(`^${property === 'body' ? 'The body' : property} must be .*\\.$`))
      assert.equal(lspHarness.sent.length, 0)
    })

  const outsideBounds: readonly [string, Partial<CreateOrderBody>, string][] = [
    ['a size that is too small', { lsp_balance_sat: '1' }, 'min_initial_lsp_balance_sat'],
    ['a size that is too large', { lsp_balance_sat: '2000001' }, 'max_initial_lsp_balance_sat'],
    ['a balance for the client', { client_balance_sat: '1000' }, 'max_initial_client_balance_sat'],
    ['zero confirmations', { required_channel_confirmations: 0 }, 'min_required_channel_confirmations'],
    ['too few blocks to confirm', { funding_confirms_within_blocks: 5 }, 'min_funding_confirms_within_blocks'],
    ['a lease that is too long', { channel_expiry_blocks: 13_141 }, 'max_channel_expiry_blocks'],
  ]
  for (const [name, more, option] of outsideBounds)
    test(`refuse ${name}, which get_info excludes`, async () => {
      const { status, body } = await postOrder<LspError>(makeOrderBody(more))
      assert.deepEqual([status, body.error.code, body.error.data.property], [400, 100, option])
      assert.equal(lspHarness.sent.length, 0)
    })

  test('answer a refused quote with an option mismatch or a rejection', async () => {
    lspHarness.respondWith((ask, options) =>
      lspHarness.projectOutcome(ask, options, { code: 'FUNDING_CONFIRMS_TOO_LATE', message: 'It would be held for too long.' }),
    )
    const late = await postOrder<LspError>(makeOrderBody({ funding_confirms_within_blocks: 200, token: 'from-a-friend' }))
    assert.equal(await lspHarness.gateway.records.get(listQuoteRequests().at(-1)?.record?.id ?? assert.fail()), undefined)
    assert.deepEqual(
      [late.status, late.body.error.code, late.body.error.data.property],
      [400, 100, 'min_funding_confirms_within_blocks'],
    )
    lspHarness.respondWith((ask, options) =>
      lspHarness.projectOutcome(ask, options, {
        code: 'NO_SELLER',
        message: 'No live seller can serve this order now; try again later.',
      }),
    )
    const rejected = await postOrder<LspError>(makeOrderBody())
    assert.deepEqual([rejected.status, rejected.body.error.code], [500, 1])
  })

  test('answer with the reason if the order ends before its invoice', async () => {
    lspHarness.respondWith(async (ask) => {
      await lspHarness.projectFacts('order', ask.id, [
        { type: 'OrderPlaced', data: { ...createOrderTerms(), approveBefore: null } },
        { type: 'BuyerRejected', data: { reason: 'The node does not answer at 10.0.0.9:9735.' } },
      ])
    })
    const { status, body } = await postOrder<LspError>(makeOrderBody())
    assert.deepEqual([status, body.error.code, body.message], [500, 1, 'The node does not answer at 10.0.0.9:9735.'])
  })
})
