import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { proveRefund } from '@penstock/config/refund-proof.ts'
import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import { createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, NOW, openGatewayHarness, readPath } from '../../gateway-harness.fixture.ts'
import { toLspRefund } from '../../lsps1/order-record.ts'
import { autoAcceptedFact, createOrderPlacedFact, FAKE_PREIMAGE, fakeHoldIssuedFact } from '../fake-market.fixture.ts'
import { findStoredOrder } from '../read/orders.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const BUYER = createOrderTerms().buyer.accountId
const { candidate } = createOrderTerms()
const OTHER = createCandidate(2).sellerAccountId
const REFUND = 'mutation R($input: RefundOrderInput!) { market { order { refund(input: $input) { success } } } }'
const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { refund { msats url reason } } } } } }`
const LIST = '{ user { market { orders { purchases { list { refund { msats } } } } } } }'

const invoice = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: '0f'.repeat(32),
    amountMsat: 2_500_000n,
    paymentSecret: '22'.repeat(32),
    createdAt: NOW,
    expirySeconds: 86_400,
    cltvDelta: 40,
    description: '',
  },
  new Uint8Array(32).fill(5),
)
const entry = (account: string, amountMsat: string) => ({ account, amountMsat })
const debt = [
  { type: 'HoldSettled', data: { settledAt: 1, receivedMsat: '3000000', confirmations: 3 } },
  { type: 'LedgerPosted', data: { posting: 'settled', entries: [entry('received', '2500000'), entry('payable', '-2500000')] } },
  { type: 'PayableClosed', data: { reason: 'The funding is gone.', height: 1912 } },
  {
    type: 'LedgerPosted',
    data: { posting: 'owed-to-buyer', entries: [entry('payable', '2500000'), entry('owed-to-buyer', '-2500000')] },
  },
]

let market: GatewayHarness
const keys: Record<string, string> = {}
beforeEach(async () => {
  market = await openGatewayHarness()
  for (const account of [BUYER, candidate.sellerAccountId, OTHER]) keys[account] = await market.apiKey(account)
  await market.projectFacts('order', ORDER, [
    createOrderPlacedFact({ source: 'manual' }),
    autoAcceptedFact,
    fakeHoldIssuedFact,
    { type: 'PaymentHeld', data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 } },
    { type: 'AttemptStarted', data: { attempt: 1, candidate } },
    { type: 'OrderValid', data: { settledAt: 1 } },
  ])
})
afterEach(() => market.close())

const refund = (account: string, change: object = {}) =>
  market.gql(REFUND, { input: { order_id: ORDER, invoice, preimage: FAKE_PREIMAGE, ...change } }, keys[account])

test("the debt and its page are in the buyer's views of the order, and not in the seller's", async () => {
  const read = async (account: string) =>
    readPath(await market.gql(GET, {}, keys[account]), 'user.market.orders.get_order.refund')
  const readLsps = async () => toLspRefund((await findStoredOrder(market.gateway.views, ORDER)) ?? assert.fail())
  assert.deepEqual([await read(BUYER), await readLsps()], [null, {}])
  await market.projectFacts('settlement', ORDER, debt)
  const url = `https://market.example/orders/${deriveCheckoutToken(market.gateway.pepper, ORDER)}`
  assert.deepEqual(await read(BUYER), { msats: '2500000', url, reason: null })
  assert.equal(await read(candidate.sellerAccountId), null)
  assert.deepEqual(readPath(await market.gql(LIST, {}, keys[BUYER]), 'user.market.orders.purchases.list'), [
    { refund: { msats: '2500000' } },
  ])
  assert.deepEqual(await readLsps(), { refund: { amount_msat: '2500000' } })
})

test("the buyer gives its invoice with the preimage of its payment, which stays in the gateway's memory", async () => {
  await market.projectFacts('settlement', ORDER, debt)
  market.respondWith((ask, { commandId }) =>
    market.projectFacts(
      'settlement',
      ORDER,
      [{ type: 'PayoutInvoiceSubmitted', data: { ...ask.command.data, creditor: 'buyer' } }],
      commandId,
    ),
  )
  assert.deepEqual((await refund(BUYER)).errors, undefined)
  const { type, data } = market.sent.at(-1)?.ask.command ?? assert.fail()
  assert.equal(type, 'SubmitRefundInvoice')
  assert.equal(readPath({ data }, 'proof'), proveRefund(FAKE_PREIMAGE, { orderId: ORDER, request: invoice }))
  assert.ok(!JSON.stringify(market.sent).includes(FAKE_PREIMAGE))
})

test('a wrong preimage, a wrong amount, a seller and a stranger are refused, and settlement hears nothing', async () => {
  const messageOf = async (answer: Promise<{ errors?: readonly { readonly message: string }[] }>) =>
    (await answer).errors?.[0]?.message
  assert.match((await messageOf(refund(BUYER))) ?? '', /owes you no amount/)
  await market.projectFacts('settlement', ORDER, debt)
  const sent = market.sent.length
  assert.match((await messageOf(refund(BUYER, { preimage: '00'.repeat(32) }))) ?? '', /preimage is of another payment/)
  assert.match((await messageOf(refund(BUYER, { preimage: 'no' }))) ?? '', /Give the preimage of your payment/)
  assert.match((await messageOf(refund(BUYER, { invoice: 'lnbc1' }))) ?? '', /no Lightning invoice/)
  for (const account of [candidate.sellerAccountId, OTHER]) assert.equal(await messageOf(refund(account)), 'Order not found')
  assert.equal(market.sent.length, sent)
})
