import { encodePaymentRequest, decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { accepted, BUYER_URI, issued, placed } from '../fake-market.contract.ts'
import { at, type Stage, stage } from '../stage.contract.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const SELLER = candidateOf(1).sellerAccountId
const OTHER = candidateOf(2).sellerAccountId
const BUYER = orderTermsOf().buyer.accountId
const ACCEPT =
  'mutation A($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const ADD =
  'mutation T($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { success } } } } }'
const CANCEL = 'mutation C($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const SALES = `query S($input: OrderInput) { user { market { orders { sales(input: $input) { total list {
  id status size fees { seller { sats } } outpoint action_needed is_seller payout { sats invoice_status status reason } destination { pubkey sockets } } } } } } }`
const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { status payment_status is_seller action_needed channel_id confirmations { confirmations } blocks_until_can_be_closed
  payment { lightning { invoice pending } } fees { seller { sats } buyer { sats usd } } timeout timeline { fact status reason } source { pubkey } } } } } }`

const request = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: 'c'.repeat(64),
    amountMsat: 2_500_000n,
    paymentSecret: 'd'.repeat(64),
    createdAt: Date.now(),
    expirySeconds: 180_000,
    cltvDelta: 40,
    description: '',
  },
  new Uint8Array(32).fill(3),
)
const paymentHash = 'c'.repeat(64)
const held = {
  type: 'PaymentHeld',
  data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 },
}
const started = (attempt: number) => ({ type: 'AttemptStarted', data: { attempt, candidate: candidateOf(attempt) } })
const asked = (attempt: number) => ({ type: 'OpeningAsked', data: { attempt, openBefore: 1_900_000_000_000 } })
const offered = {
  type: 'PayoutInvoiceOffered',
  data: {
    attempt: 1,
    request,
    paymentHash,
    payee: candidateOf(1).sellerPubkey,
    amountMsat: '2500000',
    expiresAt: 1_900_000_000_000,
  },
}

let market: Stage
const keys: Record<string, string> = {}
beforeEach(async () => {
  market = await stage({ addresses: async (pubkey) => ({ alias: `node-${pubkey.slice(2, 6)}`, sockets: ['203.0.113.5:9735'] }) })
  for (const account of [SELLER, OTHER, BUYER]) {
    const key = newCredential('pak_', market.gateway.ids)
    keys[account] = key
    const keyHash = hashCredential(market.gateway.pepper, key)
    await market.happens('account', account, [
      {
        type: 'ApiKeyCreated',
        data: { keyId: account, keyHash, prefix: 'pak_', suffix: 'x', nameRecord: null, expiresAt: null },
      },
    ])
  }
})
afterEach(() => market.close())

const opening = () => market.happens('order', ORDER, [placed(), accepted, issued, held, started(1), asked(1)])
const message = async (query: string, input: object, account = SELLER) =>
  (await market.gql(query, { input }, keys[account])).errors?.[0]?.message
const sales = async (account: string, input: object = {}) =>
  at(await market.gql(SALES, { input }, keys[account]), 'user.market.orders.sales') as {
    total: number
    list: Record<string, unknown>[]
  }

test('a sale that needs something is listed until it is done', async () => {
  await opening()
  const {
    total,
    list: [sale],
  } = await sales(SELLER, { action_needed: true })
  assert.equal(total, 1)
  assert.deepEqual(sale, {
    id: ORDER,
    status: 'WAITING_FOR_CHANNEL_OPEN',
    size: '1000000',
    fees: { seller: { sats: '2500' } },
    outpoint: null,
    action_needed: true,
    is_seller: true,
    payout: { sats: '2500', invoice_status: 'NONE', status: null, reason: null },
    destination: { pubkey: orderTermsOf().destination.pubkey, sockets: ['127.0.0.1:9735'] },
  })
  assert.equal((await sales(SELLER, { action_needed: false })).total, 0)
  assert.equal((await sales(SELLER, { peer_pubkey: BUYER_URI.slice(0, 66) })).total, 0)
  assert.equal((await sales(OTHER)).total, 0)
  await market.happens('order', ORDER, [{ type: 'OutpointNamed', data: { attempt: 1, outpoint: outpointOf(1) } }, offered])
  assert.equal((await sales(SELLER, { action_needed: true })).total, 0)
  assert.equal((await sales(SELLER)).list[0]?.['outpoint'], outpointOf(1))
})

const invoiceTaken = (hash: string) => [
  { type: 'PayoutInvoiceOffered', data: { paymentHash: hash, payee: candidateOf(1).sellerPubkey, amountMsat: '2500000' } },
  { type: 'PayoutInvoiceTaken', data: { paymentHash: hash } },
]
/** The money of the order, from the naming of the outpoint until the seller's first invoice is to be paid. */
const settled = [
  { type: 'OutpointNoted', data: { attempt: 1, outpoint: outpointOf(1), terms: { sellerPubkey: candidateOf(1).sellerPubkey } } },
  ...invoiceTaken(paymentHash),
  { type: 'HoldSettled', data: { settledAt: 1, receivedMsat: '3000000' } },
  { type: 'LedgerPosted', data: { posting: 'settled', entries: [{ account: 'payable', amountMsat: '-2500000' }] } },
  { type: 'PayoutReleased', data: { atHeight: 110, confirmations: 6 } },
  { type: 'PayoutRequested', data: { attempt: 1, paymentHash, request, maxFeeMsat: '1' } },
]

test.each([
  ['SELLER_INVOICE_EXPIRED', 'The invoice expired.'],
  ['PAYMENT_REJECTED_BY_DESTINATION', 'The node refused it.'],
])(
  "an invoice that ends with %s is asked for again, by settlement's word alone, until there is another",
  async (status, reason) => {
    await opening()
    await market.happens('order', ORDER, [
      { type: 'OutpointNamed', data: { attempt: 1, outpoint: outpointOf(1) } },
      offered,
      { type: 'PayoutInvoiceTaken', data: { paymentHash } },
    ])
    await market.happens('settlement', ORDER, settled)
    assert.equal((await sales(SELLER, { action_needed: true })).total, 0)
    await market.happens('settlement', ORDER, [
      { type: 'PayoutFailed', data: { attempt: 1, paymentHash, status, reason, retryAt: null } },
    ])
    const { list } = await sales(SELLER, { action_needed: true })
    assert.deepEqual(list[0]?.['payout'], { sats: '2500', invoice_status: 'TAKEN', status: 'FAILED', reason })
    const shown = async (what: string, account = SELLER) =>
      at(await market.gql(GET, {}, keys[account]), `user.market.orders.get_order.${what}`)
    assert.deepEqual([await shown('action_needed'), await shown('payment_status')], [true, status])
    assert.equal(await shown('payment_status', BUYER), 'SUCCESSFUL_PAYMENT')
    const second = 'f'.repeat(64)
    await market.happens('settlement', ORDER, invoiceTaken(second))
    assert.deepEqual([await shown('action_needed'), await shown('payment_status')], [false, 'SUCCESSFUL_PAYMENT'])
    assert.equal((await sales(SELLER, { action_needed: true })).total, 0)
  },
)

test('accept is answered with what settlement makes of the invoice', async () => {
  await opening()
  const verdicts = [
    { type: 'PayoutInvoiceRefused', data: { paymentHash, reason: 'This payment hash was used before.' } },
    { type: 'PayoutInvoiceTaken', data: { paymentHash } },
  ]
  market.answers(async (ask, { commandId }) => {
    assert.deepEqual([ask.id, ask.command], [ORDER, { type: 'Accept', data: { by: SELLER, request } }])
    await market.happens('order', ORDER, [offered], commandId)
    const verdict = verdicts.shift()
    if (verdict) setImmediate(() => void market.happens('order', ORDER, [verdict]))
  })
  assert.equal(decodePaymentRequest(request)?.paymentHash, paymentHash)
  const input = { order_id: ORDER, request }
  assert.equal(await message(ACCEPT, input), 'This payment hash was used before.')
  assert.equal(await message(ACCEPT, input), undefined)
})

test('add_transaction succeeds only when settlement has the outpoint', async () => {
  await opening()
  market.answers(async (ask, { commandId }) => {
    assert.deepEqual(ask.command, { type: 'NameOutpoint', data: { by: SELLER, outpoint: outpointOf(1), attestation: null } })
    await market.happens(
      'order',
      ORDER,
      [{ type: 'OutpointOffered', data: { attempt: 1, outpoint: outpointOf(1), attestation: null } }],
      commandId,
    )
    setImmediate(
      () => void market.happens('order', ORDER, [{ type: 'OutpointNamed', data: { attempt: 1, outpoint: outpointOf(1) } }]),
    )
  })
  assert.equal(await message(ADD, { order_id: ORDER, transaction: outpointOf(1) }), undefined)
  // Again with the same value: nothing new, and a success.
  market.answers((ask, options) => market.outcome(ask, options, null))
  assert.equal(await message(ADD, { order_id: ORDER, transaction: outpointOf(1).toUpperCase() }), undefined)
})

test('an outpoint that serves another order is refused', async () => {
  await opening()
  market.answers(async (_, { commandId }) => {
    await market.happens(
      'order',
      ORDER,
      [{ type: 'OutpointOffered', data: { attempt: 1, outpoint: outpointOf(1), attestation: null } }],
      commandId,
    )
    await market.happens('order', ORDER, [
      { type: 'OutpointRefused', data: { attempt: 1, outpoint: outpointOf(1), reason: 'This channel serves another order.' } },
    ])
  })
  assert.equal(await message(ADD, { order_id: ORDER, transaction: outpointOf(1) }), 'This channel serves another order.')
})

test('an outpoint that is not recorded in time is no success', async () => {
  await opening()
  market.answers((_, { commandId }) =>
    market.happens(
      'order',
      ORDER,
      [{ type: 'OutpointOffered', data: { attempt: 1, outpoint: outpointOf(1), attestation: null } }],
      commandId,
    ),
  )
  assert.match((await message(ADD, { order_id: ORDER, transaction: outpointOf(1) })) ?? '', /did not answer in time/)
})

test('an attestation is passed on as it was signed', async () => {
  await opening()
  await market.happens('order', ORDER, [{ type: 'OutpointNamed', data: { attempt: 1, outpoint: outpointOf(1) } }])
  market.answers((ask, options) => market.outcome(ask, options, null))
  const nodeKeys = [BUYER_URI.slice(0, 66), BUYER_URI.slice(0, 66)]
  const attestation = {
    capacity: '1000000',
    node_keys: nodeKeys,
    channel_type: 'anchors',
    push_sats: '0',
    reserve_sats: '10000',
    signature: 'd'.repeat(104),
  }
  assert.equal(await message(ADD, { order_id: ORDER, transaction: outpointOf(1), attestation }), undefined)
  const data = market.sent.at(-1)?.ask.command.data as { attestation: object } | undefined
  assert.deepEqual(data?.attestation, {
    outpoint: outpointOf(1),
    capacitySat: '1000000',
    nodeKeys,
    channelType: 'anchors',
    pushSat: '0',
    reserveSat: '10000',
    signature: 'd'.repeat(104),
  })
})

test('the order of somebody else does not exist', async () => {
  await opening()
  for (const [query, input] of [
    [ACCEPT, { order_id: ORDER, request }],
    [ADD, { order_id: ORDER, transaction: outpointOf(1) }],
    [CANCEL, { order_id: ORDER, cancellation_reason: 'UNABLE_TO_PAY' }],
  ] as const)
    assert.equal(await message(query, input, OTHER), 'Order not found')
  assert.equal(market.sent.length, 0)
})

test('an order of which only the money is known cannot be read: nobody is told that there is none', async () => {
  await market.happens('settlement', ORDER, [{ type: 'HoldRequested', data: { paymentHash } }])
  const unread = 'The order cannot be read just now; try again.'
  const { errors } = await market.gql(GET, {}, keys[SELLER])
  assert.deepEqual([errors?.[0]?.message, errors?.[0]?.extensions?.code], [unread, 'INTERNAL_SERVER_ERROR'])
  assert.equal(await message(ADD, { order_id: ORDER, transaction: outpointOf(1) }), unread)
  assert.equal(market.sent.length, 0)
})

test('what a seller writes when it rejects is in no fact, and the buyer reads it as long as it is kept', async () => {
  const REJECT =
    'mutation R($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
  const manual = placed({ ...orderTermsOf(true) })
  await market.happens('order', ORDER, [manual])
  let refused = false
  market.answers(async (ask, options) => {
    if (refused) return market.outcome(ask, options, { code: 'NOT_NOW', message: 'Not now.' })
    const { record } = ask.command.data as { record: object | null }
    await market.happens(
      'order',
      ORDER,
      [{ type: 'SellerRejected', data: { reason: 'It was rejected.', record } }],
      options.commandId,
    )
    refused = true
  })
  const input = { order_id: ORDER, reason: 'my coins are elsewhere' }
  assert.equal(await message(REJECT, input), undefined)
  assert.ok(!JSON.stringify(market.sent).includes('coins'))
  const shown = async () =>
    at(
      await market.gql(
        `{ user { market { orders { get_order(order_id: "${ORDER}") { reason payment { lightning { pending } } timeline { fact reason } } } } } }`,
        {},
        keys[BUYER],
      ),
      'user.market.orders.get_order',
    ) as { reason: string; timeline: { reason: string | null }[]; payment: object }
  const first = await shown()
  assert.deepEqual([first.reason, first.timeline.at(-1)?.reason], ['my coins are elsewhere', 'my coins are elsewhere'])
  assert.deepEqual(first.payment, { lightning: { pending: false } })
  // Words of a rejection that was refused are not kept.
  assert.equal(await message(REJECT, { ...input, reason: 'other words' }), 'Not now.')
  const ids = market.sent.map(({ ask }) => (ask.command.data as { record: { id: string } }).record.id)
  const kept = await Promise.all(ids.map(async (id) => (await market.gateway.records.get(id)) !== undefined))
  assert.deepEqual(kept, [true, false])
  await market.gateway.records.delete(ids[0] ?? '')
  assert.deepEqual((await shown()).reason, 'It was rejected.')
})

test('nodes have the names and addresses that gossip knows, under ids of their order', async () => {
  await opening()
  const NODES = `{ user { market { orders { get_order(order_id: "${ORDER}") {
    source { id pubkey alias sockets } destination { id pubkey alias sockets } } } } } }`
  const { source, destination } = at(await market.gql(NODES, {}, keys[BUYER]), 'user.market.orders.get_order') as Record<
    string,
    { id: string; pubkey: string; alias: string; sockets: string[] }
  >
  assert.deepEqual([source?.alias, source?.sockets], [`node-${candidateOf(1).sellerPubkey.slice(2, 6)}`, ['203.0.113.5:9735']])
  assert.deepEqual(
    [destination?.alias, destination?.sockets],
    [`node-${orderTermsOf().destination.pubkey.slice(2, 6)}`, ['127.0.0.1:9735']],
  )
  assert.notEqual(source?.id, destination?.id)
})

test('each page and each filter of a list has an id of its own', async () => {
  const LIST = `query L($page: PageInput, $input: OrderInput) { user { market { orders {
    sales(page: $page, input: $input) { id pagination { id limit offset } } purchases(page: $page, input: $input) { id pagination { id } } } } } }`
  const variables = [
    {},
    { page: { offset: 10 } },
    { page: { limit: 5 } },
    { input: { action_needed: true } },
    { input: { action_needed: false } },
  ]
  const ids = await Promise.all(
    variables.map(async (wanted) => {
      const found = at(await market.gql(LIST, wanted, keys[SELLER]), 'user.market.orders') as Record<
        string,
        { id: string; pagination: { id: string } }
      >
      for (const list of Object.values(found)) assert.equal(list.pagination.id, list.id)
      return Object.values(found).map(({ id }) => id)
    }),
  )
  assert.equal(new Set(ids.flat()).size, 2 * variables.length)
})

test('cancel passes on who asks and why', async () => {
  await opening()
  market.answers((ask, options) => market.outcome(ask, options, { code: 'HELD', message: 'The payment is held.' }))
  assert.equal(await message(CANCEL, { order_id: ORDER, cancellation_reason: 'UNABLE_TO_PAY' }, BUYER), 'The payment is held.')
  assert.deepEqual(market.sent[0]?.ask.command, { type: 'Cancel', data: { by: BUYER, reason: 'UNABLE_TO_PAY' } })
})

test('the buyer sees the whole order, the seller its own side', async () => {
  await opening()
  await market.happens('order', ORDER, [
    { type: 'OutpointNamed', data: { attempt: 1, outpoint: outpointOf(1) } },
    { type: 'FundingSeen', data: { outpoint: outpointOf(1) } },
  ])
  await market.happens('channel', ORDER, [
    { type: 'WatchStarted', data: { attempt: 1, outpoint: outpointOf(1), fromHeight: 100 } },
    { type: 'FundingConfirmed', data: { outpoint: outpointOf(1), height: 101, shortChannelId: '101x1x0' } },
    { type: 'ConfirmationsSeen', data: { outpoint: outpointOf(1), confirmations: 2, tipHeight: 102 } },
    { type: 'LeaseStarted', data: { outpoint: outpointOf(1), endsAtHeight: 4422 } },
  ])
  const buyer = at(await market.gql(GET, {}, keys[BUYER]), 'user.market.orders.get_order') as Record<string, unknown>
  assert.deepEqual(buyer['payment'], { lightning: { invoice: 'lnbcrt30u1fake', pending: false } })
  assert.deepEqual(buyer['confirmations'], { confirmations: 2 })
  assert.equal(buyer['blocks_until_can_be_closed'], 4320)
  assert.equal(buyer['channel_id'], '101x1x0')
  assert.deepEqual(buyer['fees'], { seller: { sats: '2500' }, buyer: { sats: '3000', usd: '5.00' } })
  assert.deepEqual((buyer['timeline'] as object[]).slice(0, 3), [
    { fact: 'OrderPlaced', status: 'WAITING_FOR_SELLER_APPROVAL', reason: null },
    { fact: 'SellerAccepted', status: null, reason: null },
    { fact: 'HoldIssued', status: 'WAITING_FOR_BUYER_PAYMENT', reason: null },
  ])
  const seller = at(await market.gql(GET, {}, keys[SELLER]), 'user.market.orders.get_order') as Record<string, unknown>
  assert.deepEqual([seller['is_seller'], seller['payment']], [true, { lightning: { invoice: null, pending: false } }])
})

test('a seller that was replaced is told so, and nothing of its successor', async () => {
  await opening()
  const failed = { type: 'AttemptFailed', data: { attempt: 1, reason: 'The window passed.', blamed: true } }
  await market.happens('order', ORDER, [
    failed,
    started(2),
    asked(2),
    { type: 'OutpointNamed', data: { attempt: 2, outpoint: outpointOf(2) } },
  ])
  const {
    list: [first],
  } = await sales(SELLER)
  assert.deepEqual(
    [first?.['status'], first?.['outpoint'], first?.['action_needed']],
    ['SELLER_FAILED_TO_OPEN_CHANNEL', null, false],
  )
  assert.deepEqual((await sales(OTHER)).list[0]?.['status'], 'SELLER_SENT_TRANSACTION')
  assert.deepEqual(at(await market.gql(GET, {}, keys[SELLER]), 'user.market.orders.get_order.source'), {
    pubkey: candidateOf(1).sellerPubkey,
  })
})
