import { NOW } from '../../gateway-harness.fixture.ts'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { autoAcceptedFact, createOrderPlacedFact, fakeHoldIssuedFact } from '../fake-market.fixture.ts'

export const ORDER = '30000000-0000-4000-8000-000000000001'
export const SELLER = createCandidate(1).sellerAccountId
export const OTHER = createCandidate(2).sellerAccountId
export const BUYER = createOrderTerms().buyer.accountId
export const ACCEPT =
  'mutation A($input: SellerAcceptOrdersInput!) { market { order { seller { accept(input: $input) { success } } } } }'
export const ADD =
  'mutation T($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) { success } } } } }'
export const CANCEL = 'mutation C($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
export const SALES = `query S($input: OrderInput) { user { market { orders { sales(input: $input) { total list {
  id status size fees { seller { sats } } outpoint action_needed is_seller payout { sats invoice_status status reason } destination { pubkey sockets } } } } } } }`
export const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { status payment_status is_seller action_needed channel_id confirmations { confirmations } blocks_until_can_be_closed
  payment { lightning { invoice pending } } fees { seller { sats } buyer { sats usd } } timeout timeline { fact status reason } source { pubkey } } } } } }`

export const request = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: 'c'.repeat(64),
    amountMsat: 2_500_000n,
    paymentSecret: 'd'.repeat(64),
    createdAt: NOW,
    expirySeconds: 180_000,
    cltvDelta: 40,
    description: '',
  },
  new Uint8Array(32).fill(3),
)
export const paymentHash = 'c'.repeat(64)
const held = {
  type: 'PaymentHeld',
  data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 },
}
export const started = (attempt: number) => ({ type: 'AttemptStarted', data: { attempt, candidate: createCandidate(attempt) } })
export const channelOpenRequested = (attempt: number) => ({
  type: 'ChannelOpenRequested',
  data: { attempt, openBefore: 1_900_000_000_000 },
})
export const invoiceSubmittedFact = {
  type: 'PayoutInvoiceSubmittedRecorded',
  data: {
    attempt: 1,
    request,
    paymentHash,
    payee: createCandidate(1).sellerPubkey,
    amountMsat: '2500000',
    expiresAt: 1_900_000_000_000,
  },
}

/** The facts of an order whose first seller has to open a channel. */
export const openingFacts = [
  createOrderPlacedFact(),
  autoAcceptedFact,
  fakeHoldIssuedFact,
  held,
  started(1),
  channelOpenRequested(1),
]
