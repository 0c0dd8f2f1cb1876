import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { createCandidate, createOutpoint, secretKeyFor } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { autoAcceptedFact, fakeHoldIssuedFact, createOrderPlacedFact } from '../fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const { sellerAccountId: SELLER, sellerPubkey, sellerAmountMsat } = createCandidate(1)
const OTHER = createCandidate(2).sellerAccountId
const ACCEPT =
  'mutation A($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const SALES = `{ user { market { orders { sales(input: { action_needed: true }) { list {
  id status payout { invoice_status status operator_loss } } } } } } }`
const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { payout { invoice_status status operator_loss } } } } } }`

const paymentHash = 'c'.repeat(64)
const THREE_DAYS = 259_200
const invoiceOf = (amountMsat: bigint, seller: number, expirySeconds = THREE_DAYS) =>
  encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash,
      amountMsat,
      paymentSecret: 'd'.repeat(64),
      createdAt: NOW,
      expirySeconds,
      cltvDelta: 40,
      description: '',
    },
    secretKeyFor(seller),
  )
const request = invoiceOf(2_500_000n, 1)

let market: GatewayHarness
const keys: Record<string, string> = {}
beforeEach(async () => {
  market = await openGatewayHarness()
  for (const account of [SELLER, OTHER]) keys[account] = await market.apiKey(account)
  const held = { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 }
  await market.projectFacts('order', ORDER, [
    createOrderPlacedFact(),
    autoAcceptedFact,
    fakeHoldIssuedFact,
    { type: 'PaymentHeld', data: held },
    { type: 'AttemptStarted', data: { attempt: 1, candidate: createCandidate(2) } },
    { type: 'AttemptFailed', data: { attempt: 1, reason: 'Its node was away.' } },
    { type: 'AttemptStarted', data: { attempt: 2, candidate: createCandidate(1) } },
    { type: 'ChannelOpenRequested', data: { attempt: 2, openBefore: 1_900_000_000_000 } },
    { type: 'OutpointAccepted', data: { attempt: 2, outpoint: createOutpoint(1) } },
    { type: 'SellerFailedToSendSwap', data: { reason: 'The payment went back.', blamed: false, attempt: 2 } },
  ])
  await market.projectFacts('settlement', ORDER, [
    { type: 'OutpointRegistered', data: { terms: { sellerPubkey } } },
    { type: 'HoldCancelled', data: { at: 9, reason: 'last-height', sentence: 'The payment went back.' } },
    { type: 'LossSearchStarted', data: { cause: 'node-unready', untilHeight: 700 } },
  ])
})
afterEach(() => market.close())

const projectLossBorne = () =>
  market.projectFacts('settlement', ORDER, [
    { type: 'LossBorne', data: { cause: 'node-unready', height: 290, peer: 'graph', amountMsat: sellerAmountMsat } },
    {
      type: 'LedgerPosted',
      data: {
        posting: 'operator-loss',
        entries: [
          { account: 'operator-loss', amountMsat: sellerAmountMsat },
          { account: 'payable', amountMsat: `-${sellerAmountMsat}` },
        ],
      },
    },
  ])
const submitInvoice = async (invoice: string, account = SELLER) =>
  (await market.gql(ACCEPT, { input: { order_id: ORDER, request: invoice } }, keys[account])).errors?.[0]?.message
const payout = async () => readPath(await market.gql(GET, {}, keys[SELLER]), 'user.market.orders.get_order.payout')
const listSales = async () => readPath(await market.gql(SALES, {}, keys[SELLER]), 'user.market.orders.sales.list') as object[]

test('the seller of a failed order submits its invoice to settlement once the operator bears the loss', async () => {
  assert.deepEqual(await listSales(), [])
  await projectLossBorne()
  const open = { invoice_status: 'NONE', status: 'OPEN', operator_loss: 'BORNE' }
  assert.deepEqual(await listSales(), [{ id: ORDER, status: 'SELLER_FAILED_TO_SEND_SWAP', payout: open }])
  const expiresAt = NOW + THREE_DAYS * 1000
  const data = { request, paymentHash, payee: sellerPubkey, amountMsat: sellerAmountMsat, expiresAt }
  market.respondWith(async (ask, { commandId, notAfter }) => {
    assert.equal(ask.id, ORDER)
    assert.equal(notAfter, undefined, 'a late invoice of a seller is carried out')
    assert.deepEqual(ask.command, { type: 'SubmitPayoutInvoice', data })
    await market.projectFacts(
      'settlement',
      ORDER,
      [{ type: 'PayoutInvoiceSubmitted', data: { ...data, creditor: 'seller' } }],
      commandId,
    )
    setImmediate(() => void market.projectFacts('settlement', ORDER, [{ type: 'PayoutInvoiceAccepted', data: { paymentHash } }]))
  })
  assert.equal(await submitInvoice(request), undefined)
  assert.deepEqual(await payout(), { ...open, invoice_status: 'TAKEN' })
  assert.deepEqual(await listSales(), [])
})

test('a refusal by settlement is answered with its reason', async () => {
  await projectLossBorne()
  const reason = 'The invoice has expired.'
  market.respondWith((_, { commandId }) =>
    market.projectFacts('settlement', ORDER, [{ type: 'PayoutInvoiceRefused', data: { paymentHash, reason } }], commandId),
  )
  assert.equal(await submitInvoice(request), reason)
})

test('an invoice with another amount or node, or an early expiry, is refused at once', async () => {
  await projectLossBorne()
  assert.equal(await submitInvoice(invoiceOf(2_600_000n, 1)), 'The invoice must be for exactly 2500000 msat')
  assert.equal(await submitInvoice(invoiceOf(2_500_000n, 2)), `The invoice must be of the node that sells, ${sellerPubkey}`)
  const short = invoiceOf(2_500_000n, 1, 172_000)
  assert.equal(await submitInvoice(short), 'The invoice must not expire within the next 48 hours')
  assert.deepEqual(market.sent, [])
})

test('an invoice is refused once the payout is paid', async () => {
  await projectLossBorne()
  const paid = { posting: 'paid', entries: [{ account: 'payable', amountMsat: sellerAmountMsat }] }
  await market.projectFacts('settlement', ORDER, [{ type: 'LedgerPosted', data: paid }])
  assert.equal(await submitInvoice(request), 'The payout is paid')
  assert.deepEqual(market.sent, [])
})

test.each([
  ['the loss is requested but not borne', SELLER, () => Promise.resolve()],
  ['another seller of the order submits it', OTHER, projectLossBorne],
  [
    'the loss is refuted',
    SELLER,
    async () => {
      await projectLossBorne()
      await market.projectFacts('settlement', ORDER, [
        { type: 'LossRefuted', data: { height: 300, reason: 'No.', by: 'operator' } },
      ])
    },
  ],
] as const)('the order receives the invoice if %s', async (_, account, projectLoss) => {
  await projectLoss()
  market.respondWith((ask, options) => {
    assert.deepEqual(ask.command, { type: 'Accept', data: { by: account, request } })
    return market.projectOutcome(ask, options, { code: 'ENDED', message: 'The order has ended.' })
  })
  assert.equal(await submitInvoice(request, account), 'The order has ended.')
})
