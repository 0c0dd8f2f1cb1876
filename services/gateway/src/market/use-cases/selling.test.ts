import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import { createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI, createOrderPlacedFact } from '../fake-market.fixture.ts'
import {
  ORDER,
  SELLER,
  OTHER,
  BUYER,
  ACCEPT,
  ADD,
  CANCEL,
  SALES,
  GET,
  request,
  paymentHash,
  started,
  channelOpenRequested,
  invoiceSubmittedFact,
  openingFacts,
} from './selling.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'

let market: GatewayHarness
const keys: Record<string, string> = {}
beforeEach(() => openMarket())
async function openMarket(clock?: Clock): Promise<void> {
  market = await openGatewayHarness({
    ...(clock && { clock }),
    addresses: async (pubkey) => ({ alias: `node-${pubkey.slice(2, 6)}`, sockets: ['203.0.113.5:9735'] }),
  })
  for (const account of [SELLER, OTHER, BUYER]) keys[account] = await market.apiKey(account)
}
afterEach(() => market.close())

const projectOpening = () => market.projectFacts('order', ORDER, openingFacts)
const message = async (query: string, input: object, account = SELLER) =>
  (await market.gql(query, { input }, keys[account])).errors?.[0]?.message
const sales = async (account: string, input: object = {}) =>
  readPath(await market.gql(SALES, { input }, keys[account]), 'user.market.orders.sales') as {
    total: number
    list: Record<string, unknown>[]
  }

test('the filter action_needed lists a sale until its seller has acted', async () => {
  await projectOpening()
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
    destination: { pubkey: createOrderTerms().destination.pubkey, sockets: ['127.0.0.1:9735'] },
  })
  assert.equal((await sales(SELLER, { action_needed: false })).total, 0)
  assert.equal((await sales(SELLER, { peer_pubkey: BUYER_URI.slice(0, 66) })).total, 0)
  assert.equal((await sales(OTHER)).total, 0)
  await market.projectFacts('order', ORDER, [
    { type: 'OutpointAccepted', data: { attempt: 1, outpoint: createOutpoint(1) } },
    invoiceSubmittedFact,
  ])
  assert.equal((await sales(SELLER, { action_needed: true })).total, 0)
  assert.equal((await sales(SELLER)).list[0]?.['outpoint'], createOutpoint(1))
})

const createInvoiceFacts = (hash: string) => [
  { type: 'PayoutInvoiceSubmitted', data: { paymentHash: hash, payee: createCandidate(1).sellerPubkey, amountMsat: '2500000' } },
  { type: 'PayoutInvoiceAccepted', data: { paymentHash: hash } },
]
/** Facts of settlement, from the accepted outpoint to the request to pay the seller's first invoice. */
const settlementFacts = [
  {
    type: 'OutpointRegistered',
    data: { attempt: 1, outpoint: createOutpoint(1), terms: { sellerPubkey: createCandidate(1).sellerPubkey } },
  },
  ...createInvoiceFacts(paymentHash),
  { type: 'HoldSettled', data: { settledAt: 1, receivedMsat: '3000000' } },
  { type: 'LedgerPosted', data: { posting: 'settled', entries: [{ account: 'payable', amountMsat: '-2500000' }] } },
  { type: 'PayoutReleased', data: { atHeight: 110, confirmations: 6 } },
  { type: 'PayoutRequested', data: { attempt: 1, paymentHash, request, maxFeeMsat: '1' } },
]

test.each([
  ['SELLER_INVOICE_EXPIRED', 'The invoice expired.'],
  ['PAYMENT_REJECTED_BY_DESTINATION', 'The node refused it.'],
])('a payout that fails with %s makes the sale need action until settlement accepts another invoice', async (status, reason) => {
  await projectOpening()
  await market.projectFacts('order', ORDER, [
    { type: 'OutpointAccepted', data: { attempt: 1, outpoint: createOutpoint(1) } },
    invoiceSubmittedFact,
  ])
  const readInvoiceStatus = async () =>
    ((await sales(SELLER, {})).list[0]?.['payout'] as Record<string, unknown> | undefined)?.['invoice_status']
  assert.equal(await readInvoiceStatus(), 'OFFERED')
  await market.projectFacts('order', ORDER, [{ type: 'PayoutInvoiceAcceptedRecorded', data: { paymentHash } }])
  assert.equal(await readInvoiceStatus(), 'TAKEN')
  await market.projectFacts('settlement', ORDER, settlementFacts)
  assert.equal((await sales(SELLER, { action_needed: true })).total, 0)
  await market.projectFacts('settlement', ORDER, [
    { type: 'PayoutFailed', data: { attempt: 1, paymentHash, status, reason, retryAt: null } },
  ])
  const { list } = await sales(SELLER, { action_needed: true })
  assert.deepEqual(list[0]?.['payout'], { sats: '2500', invoice_status: 'TAKEN', status: 'FAILED', reason })
  const readField = async (field: string, account = SELLER) =>
    readPath(await market.gql(GET, {}, keys[account]), `user.market.orders.get_order.${field}`)
  assert.deepEqual([await readField('action_needed'), await readField('payment_status')], [true, status])
  assert.equal(await readField('payment_status', BUYER), 'SUCCESSFUL_PAYMENT')
  const second = 'f'.repeat(64)
  await market.projectFacts('settlement', ORDER, createInvoiceFacts(second))
  assert.deepEqual([await readField('action_needed'), await readField('payment_status')], [false, 'SUCCESSFUL_PAYMENT'])
  assert.equal((await sales(SELLER, { action_needed: true })).total, 0)
})

test("accept is answered with settlement's verdict on the invoice", async () => {
  await projectOpening()
  const verdicts = [
    { type: 'PayoutInvoiceRefusedRecorded', data: { paymentHash, reason: 'This payment hash was used before.' } },
    { type: 'PayoutInvoiceAcceptedRecorded', data: { paymentHash } },
  ]
  market.respondWith(async (ask, { commandId }) => {
    assert.deepEqual([ask.id, ask.command], [ORDER, { type: 'Accept', data: { by: SELLER, request } }])
    await market.projectFacts('order', ORDER, [invoiceSubmittedFact], commandId)
    const verdict = verdicts.shift()
    if (verdict) setImmediate(() => void market.projectFacts('order', ORDER, [verdict]))
  })
  assert.equal(decodePaymentRequest(request)?.paymentHash, paymentHash)
  const input = { order_id: ORDER, request }
  assert.equal(await message(ACCEPT, input), 'This payment hash was used before.')
  assert.equal(await message(ACCEPT, input), undefined)
})

test('add_transaction succeeds once the outpoint is accepted', async () => {
  await projectOpening()
  market.respondWith(async (ask, { commandId }) => {
    assert.deepEqual(ask.command, {
      type: 'SubmitOutpoint',
      data: { by: SELLER, outpoint: createOutpoint(1), attestation: null },
    })
    await market.projectFacts(
      'order',
      ORDER,
      [{ type: 'OutpointSubmitted', data: { attempt: 1, outpoint: createOutpoint(1), attestation: null } }],
      commandId,
    )
    setImmediate(
      () =>
        void market.projectFacts('order', ORDER, [
          { type: 'OutpointAccepted', data: { attempt: 1, outpoint: createOutpoint(1) } },
        ]),
    )
  })
  assert.equal(await message(ADD, { order_id: ORDER, transaction: createOutpoint(1) }), undefined)
  // Submitting the same outpoint again adds no fact, and succeeds.
  market.respondWith((ask, options) => market.projectOutcome(ask, options, null))
  assert.equal(await message(ADD, { order_id: ORDER, transaction: createOutpoint(1).toUpperCase() }), undefined)
})

test('an outpoint that serves another order is refused', async () => {
  await projectOpening()
  market.respondWith(async (_, { commandId }) => {
    await market.projectFacts(
      'order',
      ORDER,
      [{ type: 'OutpointSubmitted', data: { attempt: 1, outpoint: createOutpoint(1), attestation: null } }],
      commandId,
    )
    await market.projectFacts('order', ORDER, [
      {
        type: 'OutpointRefused',
        data: { attempt: 1, outpoint: createOutpoint(1), reason: 'This channel serves another order.' },
      },
    ])
  })
  assert.equal(await message(ADD, { order_id: ORDER, transaction: createOutpoint(1) }), 'This channel serves another order.')
})

test('add_transaction fails if the outpoint is not recorded in time', async () => {
  await market.close()
  await openMarket(createInstantClock(NOW))
  await projectOpening()
  market.respondWith((_, { commandId }) =>
    market.projectFacts(
      'order',
      ORDER,
      [{ type: 'OutpointSubmitted', data: { attempt: 1, outpoint: createOutpoint(1), attestation: null } }],
      commandId,
    ),
  )
  assert.match((await message(ADD, { order_id: ORDER, transaction: createOutpoint(1) })) ?? '', /did not answer in time/)
})

test('the SubmitOutpoint command contains the attestation as it was signed', async () => {
  await projectOpening()
  await market.projectFacts('order', ORDER, [{ type: 'OutpointAccepted', data: { attempt: 1, outpoint: createOutpoint(1) } }])
  market.respondWith((ask, options) => market.projectOutcome(ask, options, null))
  const nodeKeys = [BUYER_URI.slice(0, 66), BUYER_URI.slice(0, 66)]
  const attestation = {
    capacity: '1000000',
    node_keys: nodeKeys,
    channel_type: 'anchors',
    push_sats: '0',
    reserve_sats: '10000',
    signature: 'd'.repeat(104),
  }
  assert.equal(await message(ADD, { order_id: ORDER, transaction: createOutpoint(1), attestation }), undefined)
  const data = market.sent.at(-1)?.ask.command.data as { attestation: object } | undefined
  assert.deepEqual(data?.attestation, {
    outpoint: createOutpoint(1),
    capacitySat: '1000000',
    nodeKeys,
    channelType: 'anchors',
    pushSat: '0',
    reserveSat: '10000',
    signature: 'd'.repeat(104),
  })
})

test('an order of other accounts gets the error for an unknown order', async () => {
  await projectOpening()
  for (const [query, input] of [
    [ACCEPT, { order_id: ORDER, request }],
    [ADD, { order_id: ORDER, transaction: createOutpoint(1) }],
    [CANCEL, { order_id: ORDER, cancellation_reason: 'UNABLE_TO_PAY' }],
  ] as const)
    assert.equal(await message(query, input, OTHER), 'Order not found')
  assert.equal(market.sent.length, 0)
})

test('a seller gets an internal error, not "not found", if only settlement facts of an order are known', async () => {
  await market.projectFacts('settlement', ORDER, [{ type: 'HoldRequested', data: { paymentHash } }])
  const unread = 'The order cannot be read just now; try again.'
  const { errors } = await market.gql(GET, {}, keys[SELLER])
  assert.deepEqual([errors?.[0]?.message, errors?.[0]?.extensions?.code], [unread, 'INTERNAL_SERVER_ERROR'])
  assert.equal(await message(ADD, { order_id: ORDER, transaction: createOutpoint(1) }), unread)
  assert.equal(market.sent.length, 0)
})

test('no command contains the text of a rejection, and the buyer reads the text while its record exists', async () => {
  const REJECT =
    'mutation R($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
  const manual = createOrderPlacedFact({ ...createOrderTerms(true) })
  await market.projectFacts('order', ORDER, [manual])
  let refused = false
  market.respondWith(async (ask, options) => {
    if (refused) return market.projectOutcome(ask, options, { code: 'NOT_NOW', message: 'Not now.' })
    const { record } = ask.command.data as { record: object | null }
    await market.projectFacts(
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
    readPath(
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
  // The text of a refused rejection is deleted.
  assert.equal(await message(REJECT, { ...input, reason: 'other words' }), 'Not now.')
  const ids = market.sent.map(({ ask }) => (ask.command.data as { record: { id: string } }).record.id)
  const existing = await Promise.all(ids.map(async (id) => (await market.gateway.records.get(id)) !== undefined))
  assert.deepEqual(existing, [true, false])
  await market.gateway.records.delete(ids[0] ?? '')
  assert.deepEqual((await shown()).reason, 'It was rejected.')
})

test('the nodes of an order have aliases from gossip, addresses, and different ids', async () => {
  await projectOpening()
  const NODES = `{ user { market { orders { get_order(order_id: "${ORDER}") {
    source { id pubkey alias sockets } destination { id pubkey alias sockets } } } } } }`
  const { source, destination } = readPath(await market.gql(NODES, {}, keys[BUYER]), 'user.market.orders.get_order') as Record<
    string,
    { id: string; pubkey: string; alias: string; sockets: string[] }
  >
  assert.deepEqual(
    [source?.alias, source?.sockets],
    [`node-${createCandidate(1).sellerPubkey.slice(2, 6)}`, ['203.0.113.5:9735']],
  )
  assert.deepEqual(
    [destination?.alias, destination?.sockets],
    [`node-${createOrderTerms().destination.pubkey.slice(2, 6)}`, ['127.0.0.1:9735']],
  )
  assert.notEqual(source?.id, destination?.id)
})

test('each page and each filter of a list has its own id', async () => {
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
    variables.map(async (values) => {
      const found = readPath(await market.gql(LIST, values, keys[SELLER]), 'user.market.orders') as Record<
        string,
        { id: string; pagination: { id: string } }
      >
      for (const list of Object.values(found)) assert.equal(list.pagination.id, list.id)
      return Object.values(found).map(({ id }) => id)
    }),
  )
  assert.equal(new Set(ids.flat()).size, 2 * variables.length)
})

test('the Cancel command contains the caller and its reason', async () => {
  await projectOpening()
  market.respondWith((ask, options) => market.projectOutcome(ask, options, { code: 'HELD', message: 'The payment is held.' }))
  assert.equal(await message(CANCEL, { order_id: ORDER, cancellation_reason: 'UNABLE_TO_PAY' }, BUYER), 'The payment is held.')
  assert.deepEqual(market.sent[0]?.ask.command, { type: 'Cancel', data: { by: BUYER, reason: 'UNABLE_TO_PAY' } })
})

test('the buyer reads the whole order, and the seller reads it without the invoice', async () => {
  await projectOpening()
  await market.projectFacts('order', ORDER, [
    { type: 'OutpointAccepted', data: { attempt: 1, outpoint: createOutpoint(1) } },
    { type: 'FundingSeenRecorded', data: { outpoint: createOutpoint(1) } },
  ])
  await market.projectFacts('channel', ORDER, [
    { type: 'WatchStarted', data: { attempt: 1, outpoint: createOutpoint(1), fromHeight: 100 } },
    { type: 'FundingConfirmed', data: { outpoint: createOutpoint(1), height: 101, shortChannelId: '101x1x0' } },
    { type: 'ConfirmationsSeen', data: { outpoint: createOutpoint(1), confirmations: 2, tipHeight: 102 } },
    { type: 'LeaseStarted', data: { outpoint: createOutpoint(1), endsAtHeight: 4422 } },
  ])
  const buyer = readPath(await market.gql(GET, {}, keys[BUYER]), 'user.market.orders.get_order') as Record<string, unknown>
  assert.deepEqual(buyer['payment'], { lightning: { invoice: 'lnbcrt30u1fake', pending: false } })
  assert.deepEqual(buyer['confirmations'], { confirmations: 2 })
  assert.equal(buyer['blocks_until_can_be_closed'], 4320)
  assert.equal(buyer['channel_id'], '101x1x0')
  assert.deepEqual(buyer['fees'], { seller: { sats: '2500' }, buyer: { sats: '3000', usd: '5.00' } })
  assert.deepEqual((buyer['timeline'] as object[]).slice(0, 3), [
    { fact: 'OrderPlaced', status: 'WAITING_FOR_SELLER_APPROVAL', reason: null },
    { fact: 'SellerAccepted', status: null, reason: null },
    { fact: 'HoldIssuedRecorded', status: 'WAITING_FOR_BUYER_PAYMENT', reason: null },
  ])
  const seller = readPath(await market.gql(GET, {}, keys[SELLER]), 'user.market.orders.get_order') as Record<string, unknown>
  assert.deepEqual([seller['is_seller'], seller['payment']], [true, { lightning: { invoice: null, pending: false } }])
})

test('a replaced seller reads that its attempt failed, and nothing about its successor', async () => {
  await projectOpening()
  const failed = { type: 'AttemptFailed', data: { attempt: 1, reason: 'The window passed.', blamed: true } }
  await market.projectFacts('order', ORDER, [
    failed,
    started(2),
    channelOpenRequested(2),
    { type: 'OutpointAccepted', data: { attempt: 2, outpoint: createOutpoint(2) } },
  ])
  const {
    list: [first],
  } = await sales(SELLER)
  assert.deepEqual(
    [first?.['status'], first?.['outpoint'], first?.['action_needed']],
    ['SELLER_FAILED_TO_OPEN_CHANNEL', null, false],
  )
  assert.deepEqual((await sales(OTHER)).list[0]?.['status'], 'SELLER_SENT_TRANSACTION')
  assert.deepEqual(readPath(await market.gql(GET, {}, keys[SELLER]), 'user.market.orders.get_order.source'), {
    pubkey: createCandidate(1).sellerPubkey,
  })
})
