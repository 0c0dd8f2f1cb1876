import { buyerAccountId, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { autoAcceptedFact, BUYER_URI, fakeHoldIssuedFact, createOrderPlacedFact, makeBusy } from '../fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness } from '../../gateway-harness.fixture.ts'
import type { QuoteRequest } from '../purchase/place-order.ts'

const CREATE = `mutation M($input: CreateManualOrderInput!) { market { order { create(input: $input) {
  id status size amount { satoshi { sats } } payment { lightning { invoice pending } } fees { buyer { sats } } timeline { fact } } } } }`
const PURCHASES =
  'query P($input: OrderInput) { user { market { orders { purchases(input: $input) { total list { id status action_needed is_seller } } } } } }'
const { offerId } = createOrderTerms().candidate
const input = { offer_id: offerId, pubkey: BUYER_URI.slice(0, 66), size: '1000000', payment_method: 'SATS', referrer: 'a friend' }

let market: GatewayHarness
let key: string
beforeEach(async () => {
  market = await openGatewayHarness()
  key = await market.apiKey(buyerAccountId)
  market.respondWith(async (ask, { commandId }) => {
    const { buyer, record } = ask.command.data as QuoteRequest
    await market.projectFacts('order', ask.id, [createOrderPlacedFact({ ...createOrderTerms(true), buyer, record })], commandId)
  })
})
afterEach(() => market.close())

test('an order on a chosen offer waits for its seller, and gets its invoice later', async () => {
  const answer = await market.gql(CREATE, { input }, key)
  assert.equal(answer.errors, undefined)
  const { id, ...shown } = readPath(answer, 'market.order.create') as { id: string }
  assert.deepEqual(shown, {
    status: 'WAITING_FOR_SELLER_APPROVAL',
    size: '1000000',
    amount: { satoshi: { sats: '1000000' } },
    payment: { lightning: { invoice: null, pending: true } },
    fees: { buyer: { sats: '3000' } },
    timeline: [{ fact: 'OrderPlaced' }],
  })
  const quoteRequest = market.sent[0]?.ask.command.data as QuoteRequest | undefined
  assert.deepEqual(
    [quoteRequest?.source, quoteRequest?.offerId, quoteRequest?.sizeSat, quoteRequest?.usdCents, quoteRequest?.buyer],
    ['manual', offerId, '1000000', null, { accountId: buyerAccountId, key: null }],
  )
  assert.ok(!JSON.stringify(market.sent).includes('a friend'))

  const purchases = async (filter: object) =>
    readPath(await market.gql(PURCHASES, { input: filter }, key), 'user.market.orders.purchases')
  assert.deepEqual(await purchases({}), {
    total: 1,
    list: [{ id, status: 'WAITING_FOR_SELLER_APPROVAL', action_needed: false, is_seller: false }],
  })
  assert.deepEqual(await purchases({ action_needed: true }), { total: 0, list: [] })
  await market.projectFacts('order', id, [autoAcceptedFact, fakeHoldIssuedFact])
  assert.deepEqual(await purchases({ action_needed: true }), {
    total: 1,
    list: [{ id, status: 'WAITING_FOR_BUYER_PAYMENT', action_needed: true, is_seller: false }],
  })
})

test('an order that is being released needs no action, in every query', async () => {
  const id = String(readPath(await market.gql(CREATE, { input }, key), 'market.order.create.id'))
  const readActionNeeded = async (): Promise<readonly unknown[]> => {
    const one = await market.gql(`{ user { market { orders { get_order(order_id: "${id}") { action_needed } } } } }`, {}, key)
    const list = await market.gql(PURCHASES, { input: { action_needed: true } }, key)
    const all = await market.gql(PURCHASES, { input: {} }, key)
    return [
      readPath(one, 'user.market.orders.get_order.action_needed'),
      readPath(list, 'user.market.orders.purchases.total') === 1,
      readPath(all, 'user.market.orders.purchases.list.0.action_needed'),
    ]
  }
  assert.deepEqual(await readActionNeeded(), [false, false, false])
  await market.projectFacts('order', id, [autoAcceptedFact, fakeHoldIssuedFact])
  assert.deepEqual(await readActionNeeded(), [true, true, true])
  const closing = { type: 'ReleaseRequested', data: { to: 'BUYER_REJECTED', reason: 'no', blamed: false, by: null } }
  await market.projectFacts('order', id, [closing])
  assert.deepEqual(await readActionNeeded(), [false, false, false])
})

test('the peer_pubkey filter of purchases compares the seller, not the destination', async () => {
  await market.gql(CREATE, { input }, key)
  const total = async (peer_pubkey: string) =>
    readPath(await market.gql(PURCHASES, { input: { peer_pubkey } }, key), 'user.market.orders.purchases.total')
  assert.equal(await total(input.pubkey), 0)
  assert.match((await market.gql(PURCHASES, { input: { peer_pubkey: '' } }, key)).errors?.[0]?.message ?? '', /^peer_pubkey must/)
})

test('an order without a credential is refused, and so is an unknown payment method', async () => {
  assert.equal((await market.gql(CREATE, { input })).errors?.[0]?.message, 'Unauthorized token')
  assert.equal(
    (await market.gql(CREATE, { input: { ...input, payment_method: 'DOLLARS' } }, key)).errors?.[0]?.message,
    'payment_method must be "SATS"',
  )
  assert.equal(market.sent.length, 0)
})

test('a refusal by the offer is answered with its code, and the record is deleted', async () => {
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'OFFER_SIZE', message: 'This offer sells 500,000 to 2,000,000 sat.' }),
  )
  assert.deepEqual((await market.gql(CREATE, { input }, key)).errors?.[0]?.extensions, {
    code: 'GRAPHQL_VALIDATION_FAILED',
    reason: 'OFFER_SIZE',
  })
  const quoteRequest = market.sent[0]?.ask.command.data as QuoteRequest | undefined
  assert.ok(quoteRequest?.record)
  assert.equal(await market.gateway.records.get(quoteRequest.record.id), undefined)
})

test('a busy market refuses an order with the time after which to retry, and stores no text', async () => {
  makeBusy(market, 3, ['records'])
  const answer = await market.gql(CREATE, { input }, key)
  assert.deepEqual(answer.errors?.[0]?.extensions, { code: 'INTERNAL_SERVER_ERROR', retry_after: 3 })
})

test('the answer contains the invoice if the offer has auto_accept', async () => {
  market.respondWith(async (ask, { commandId }) => {
    const { buyer, record } = ask.command.data as QuoteRequest
    await market.projectFacts(
      'order',
      ask.id,
      [createOrderPlacedFact({ ...createOrderTerms(true), autoAccepted: true, buyer, record })],
      commandId,
    )
    setImmediate(() => void market.projectFacts('order', ask.id, [autoAcceptedFact, fakeHoldIssuedFact]))
  })
  const answer = readPath(await market.gql(CREATE, { input }, key), 'market.order.create') as { payment: object }
  assert.deepEqual(answer.payment, { lightning: { invoice: 'lnbcrt30u1fake', pending: false } })
})

test('an order that ends before its invoice is answered with the reason and its id', async () => {
  market.respondWith(async (ask, { commandId }) => {
    const { buyer, record } = ask.command.data as QuoteRequest
    await market.projectFacts(
      'order',
      ask.id,
      [createOrderPlacedFact({ ...createOrderTerms(true), autoAccepted: true, buyer, record })],
      commandId,
    )
    await market.projectFacts('order', ask.id, [{ type: 'BuyerRejected', data: { reason: 'The node does not answer.' } }])
  })
  const [error] = (await market.gql(CREATE, { input }, key)).errors ?? []
  assert.equal(error?.message, 'The node does not answer.')
  assert.equal(error.extensions['transaction_id'], market.sent[0]?.ask.id)
})

test('an order on an unknown offer gets the same error as a query for the offer', async () => {
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'OFFER_NOT_FOUND', message: 'There is no such offer.' }),
  )
  assert.equal((await market.gql(CREATE, { input }, key)).errors?.[0]?.message, 'Offer not found')
})
