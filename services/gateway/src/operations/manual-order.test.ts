import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { buyerAccount, orderTermsOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { accepted, BUYER_URI, issued, placed } from '../fake-market.contract.ts'
import { at, type Stage, stage } from '../stage.contract.ts'
import type { Wish } from './place-order.ts'

const CREATE = `mutation M($input: CreateManualOrderInput!) { market { order { create(input: $input) {
  id status size payment { lightning { invoice pending } } fees { buyer { sats } } timeline { fact } } } } }`
const PURCHASES =
  'query P($input: OrderInput) { user { market { orders { purchases(input: $input) { total list { id status action_needed is_seller } } } } } }'
const { offerId } = orderTermsOf().candidate
const input = { offer_id: offerId, pubkey: BUYER_URI.slice(0, 66), size: '1000000', payment_method: 'SATS', referrer: 'a friend' }

let market: Stage
let key: string
beforeEach(async () => {
  market = await stage()
  key = newCredential('pak_', market.gateway.ids)
  const data = {
    keyId: buyerAccount,
    keyHash: hashCredential(market.gateway.pepper, key),
    prefix: 'pak_',
    suffix: 'x',
    nameRecord: null,
    expiresAt: null,
  }
  await market.happens('account', buyerAccount, [{ type: 'ApiKeyCreated', data }])
  market.answers(async (ask, { commandId }) => {
    const { buyer, record } = ask.command.data as Wish
    await market.happens('order', ask.id, [placed({ ...orderTermsOf(true), buyer, record })], commandId)
  })
})
afterEach(() => market.close())

test('an order on a named offer waits for its seller, and the invoice comes later', async () => {
  const answer = await market.gql(CREATE, { input }, key)
  assert.equal(answer.errors, undefined)
  const { id, ...shown } = at(answer, 'market.order.create') as { id: string }
  assert.deepEqual(shown, {
    status: 'WAITING_FOR_SELLER_APPROVAL',
    size: '1000000',
    payment: { lightning: { invoice: null, pending: true } },
    fees: { buyer: { sats: '3000' } },
    timeline: [{ fact: 'OrderPlaced' }],
  })
  const wish = market.sent[0]?.ask.command.data as Wish | undefined
  assert.deepEqual(
    [wish?.source, wish?.offerId, wish?.sizeSat, wish?.usdCents, wish?.buyer],
    ['manual', offerId, '1000000', null, { accountId: buyerAccount, key: null }],
  )
  assert.ok(!JSON.stringify(market.sent).includes('a friend'))

  const purchases = async (filter: object) =>
    at(await market.gql(PURCHASES, { input: filter }, key), 'user.market.orders.purchases')
  assert.deepEqual(await purchases({}), {
    total: 1,
    list: [{ id, status: 'WAITING_FOR_SELLER_APPROVAL', action_needed: false, is_seller: false }],
  })
  assert.deepEqual(await purchases({ action_needed: true }), { total: 0, list: [] })
  await market.happens('order', id, [accepted, issued])
  assert.deepEqual(await purchases({ action_needed: true }), {
    total: 1,
    list: [{ id, status: 'WAITING_FOR_BUYER_PAYMENT', action_needed: true, is_seller: false }],
  })
})

test('an order that is being closed waits for nobody, whoever asks', async () => {
  const id = String(at(await market.gql(CREATE, { input }, key), 'market.order.create.id'))
  const waits = async (): Promise<readonly unknown[]> => {
    const one = await market.gql(`{ user { market { orders { get_order(order_id: "${id}") { action_needed } } } } }`, {}, key)
    const list = await market.gql(PURCHASES, { input: { action_needed: true } }, key)
    const all = await market.gql(PURCHASES, { input: {} }, key)
    return [
      at(one, 'user.market.orders.get_order.action_needed'),
      at(list, 'user.market.orders.purchases.total') === 1,
      at(all, 'user.market.orders.purchases.list.0.action_needed'),
    ]
  }
  assert.deepEqual(await waits(), [false, false, false])
  await market.happens('order', id, [accepted, issued])
  assert.deepEqual(await waits(), [true, true, true])
  const closing = { type: 'ReleaseRequested', data: { to: 'BUYER_REJECTED', reason: 'no', blamed: false, by: null } }
  await market.happens('order', id, [closing])
  assert.deepEqual(await waits(), [false, false, false])
})

test('purchases are found by the node that sells', async () => {
  await market.gql(CREATE, { input }, key)
  const total = async (peer_pubkey: string) =>
    at(await market.gql(PURCHASES, { input: { peer_pubkey } }, key), 'user.market.orders.purchases.total')
  assert.equal(await total(input.pubkey), 0)
})

test('nobody orders without a credential, and other ways to pay are not known', async () => {
  assert.equal((await market.gql(CREATE, { input })).errors?.[0]?.message, 'Unauthorized token')
  assert.equal(
    (await market.gql(CREATE, { input: { ...input, payment_method: 'DOLLARS' } }, key)).errors?.[0]?.message,
    'payment_method must be "SATS"',
  )
  assert.equal(market.sent.length, 0)
})

test('what the offer refuses is told', async () => {
  market.answers((ask, options) =>
    market.outcome(ask, options, { code: 'OFFER_SIZE', message: 'This offer sells 500,000 to 2,000,000 sat.' }),
  )
  assert.deepEqual((await market.gql(CREATE, { input }, key)).errors?.[0]?.extensions, {
    code: 'GRAPHQL_VALIDATION_FAILED',
    reason: 'OFFER_SIZE',
  })
  const wish = market.sent[0]?.ask.command.data as Wish | undefined
  assert.ok(wish?.record)
  assert.equal(await market.gateway.records.get(wish.record.id), undefined)
})

test('an unknown offer is not found, by the sentence of everywhere', async () => {
  market.answers((ask, options) => market.outcome(ask, options, { code: 'OFFER_NOT_FOUND', message: 'There is no such offer.' }))
  assert.equal((await market.gql(CREATE, { input }, key)).errors?.[0]?.message, 'Offer not found')
})
