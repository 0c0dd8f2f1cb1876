import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { candidateOf, outpointOf, secretOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { accepted, issued, placed } from '../fake-market.contract.ts'
import { at, type Stage, stage } from '../stage.contract.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const { sellerAccountId: SELLER, sellerPubkey, sellerAmountMsat } = candidateOf(1)
const OTHER = candidateOf(2).sellerAccountId
const ACCEPT =
  'mutation A($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
const SALES = `{ user { market { orders { sales(input: { action_needed: true }) { list {
  id status payout { invoice_status status operator_loss } } } } } } }`
const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { payout { invoice_status status operator_loss } } } } } }`

const paymentHash = 'c'.repeat(64)
const CREATED_AT = Math.floor(Date.now() / 1000) * 1000
const THREE_DAYS = 259_200
const invoiceOf = (amountMsat: bigint, seller: number, expirySeconds = THREE_DAYS) =>
  encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash,
      amountMsat,
      paymentSecret: 'd'.repeat(64),
      createdAt: CREATED_AT,
      expirySeconds,
      cltvDelta: 40,
      description: '',
    },
    secretOf(seller),
  )
const request = invoiceOf(2_500_000n, 1)

let market: Stage
const keys: Record<string, string> = {}
beforeEach(async () => {
  market = await stage()
  for (const account of [SELLER, OTHER]) {
    const key = newCredential('pak_', market.gateway.ids)
    keys[account] = key
    const keyHash = hashCredential(market.gateway.pepper, key)
    const data = { keyId: account, keyHash, prefix: 'pak_', suffix: 'x', nameRecord: null, expiresAt: null }
    await market.happens('account', account, [{ type: 'ApiKeyCreated', data }])
  }
  const held = { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 }
  await market.happens('order', ORDER, [
    placed(),
    accepted,
    issued,
    { type: 'PaymentHeld', data: held },
    { type: 'AttemptStarted', data: { attempt: 1, candidate: candidateOf(2) } },
    { type: 'AttemptFailed', data: { attempt: 1, reason: 'Its node was away.' } },
    { type: 'AttemptStarted', data: { attempt: 2, candidate: candidateOf(1) } },
    { type: 'OpeningAsked', data: { attempt: 2, openBefore: 1_900_000_000_000 } },
    { type: 'OutpointNamed', data: { attempt: 2, outpoint: outpointOf(1) } },
    { type: 'SellerFailedToSendSwap', data: { reason: 'The payment went back.', blamed: false, attempt: 2 } },
  ])
  await market.happens('settlement', ORDER, [
    { type: 'OutpointNoted', data: { terms: { sellerPubkey } } },
    { type: 'HoldCancelled', data: { at: 9, reason: 'last-height', sentence: 'The payment went back.' } },
    { type: 'LossAsked', data: { cause: 'node-unready', untilHeight: 700 } },
  ])
})
afterEach(() => market.close())

const borne = () =>
  market.happens('settlement', ORDER, [
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
const give = async (invoice: string, account = SELLER) =>
  (await market.gql(ACCEPT, { input: { order_id: ORDER, request: invoice } }, keys[account])).errors?.[0]?.message
const payout = async () => at(await market.gql(GET, {}, keys[SELLER]), 'user.market.orders.get_order.payout')
const listed = async () => at(await market.gql(SALES, {}, keys[SELLER]), 'user.market.orders.sales.list') as object[]

test('the seller of a failed order gives its invoice to settlement once the operator bears the loss', async () => {
  assert.deepEqual(await listed(), [])
  await borne()
  const open = { invoice_status: 'NONE', status: 'OPEN', operator_loss: 'BORNE' }
  assert.deepEqual(await listed(), [{ id: ORDER, status: 'SELLER_FAILED_TO_SEND_SWAP', payout: open }])
  const expiresAt = CREATED_AT + THREE_DAYS * 1000
  const data = { request, paymentHash, payee: sellerPubkey, amountMsat: sellerAmountMsat, expiresAt }
  market.answers(async (asked, { commandId }) => {
    assert.equal(asked.id, ORDER)
    assert.deepEqual(asked.command, { type: 'GivePayoutInvoice', data })
    await market.happens(
      'settlement',
      ORDER,
      [{ type: 'PayoutInvoiceOffered', data: { ...data, creditor: 'seller' } }],
      commandId,
    )
    setImmediate(() => void market.happens('settlement', ORDER, [{ type: 'PayoutInvoiceTaken', data: { paymentHash } }]))
  })
  assert.equal(await give(request), undefined)
  assert.deepEqual(await payout(), { ...open, invoice_status: 'TAKEN' })
  assert.deepEqual(await listed(), [])
})

test('what settlement refuses is told with its reason', async () => {
  await borne()
  const reason = 'The invoice has expired.'
  market.answers((_, { commandId }) =>
    market.happens('settlement', ORDER, [{ type: 'PayoutInvoiceRefused', data: { paymentHash, reason } }], commandId),
  )
  assert.equal(await give(request), reason)
})

test('an invoice of another amount or node, or of a short life, is refused at once', async () => {
  await borne()
  assert.equal(await give(invoiceOf(2_600_000n, 1)), 'The invoice must be for exactly 2500000 msat')
  assert.equal(await give(invoiceOf(2_500_000n, 2)), `The invoice must be of the node that sells, ${sellerPubkey}`)
  const short = invoiceOf(2_500_000n, 1, 172_000)
  assert.equal(await give(short), 'The invoice must not expire within the next 48 hours')
  assert.deepEqual(market.sent, [])
})

test('once the payout is paid no invoice is taken any more', async () => {
  await borne()
  const paid = { posting: 'paid', entries: [{ account: 'payable', amountMsat: sellerAmountMsat }] }
  await market.happens('settlement', ORDER, [{ type: 'LedgerPosted', data: paid }])
  assert.equal(await give(request), 'The payout is paid')
  assert.deepEqual(market.sent, [])
})

test.each([
  ['the loss is only asked for', SELLER, () => Promise.resolve()],
  ['another seller of the order asks', OTHER, borne],
  [
    'the loss is refuted',
    SELLER,
    async () => {
      await borne()
      await market.happens('settlement', ORDER, [{ type: 'LossRefuted', data: { height: 300, reason: 'No.', by: 'operator' } }])
    },
  ],
] as const)('the order answers where %s', async (_, account, first) => {
  await first()
  market.answers((asked, options) => {
    assert.deepEqual(asked.command, { type: 'Accept', data: { by: account, request } })
    return market.outcome(asked, options, { code: 'ENDED', message: 'The order has ended.' })
  })
  assert.equal(await give(request, account), 'The order has ended.')
})
