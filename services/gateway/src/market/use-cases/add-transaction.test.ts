import { createCandidate, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { autoAcceptedFact, fakeHoldIssuedFact, createOrderPlacedFact } from '../fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness } from '../../gateway-harness.fixture.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const SELLER = createCandidate(1).sellerAccountId
const ADD = `mutation T($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) {
  success broadcast_until_height } } } } }`
const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { outpoint broadcast_until_height } } } } }`

let market: GatewayHarness
let key: string
beforeEach(async () => {
  market = await openGatewayHarness()
  key = await market.apiKey(SELLER)
  await market.projectFacts('order', ORDER, [
    createOrderPlacedFact(),
    autoAcceptedFact,
    fakeHoldIssuedFact,
    {
      type: 'PaymentHeld',
      data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 },
    },
    { type: 'AttemptStarted', data: { attempt: 1, candidate: createCandidate(1) } },
    { type: 'ChannelOpenRequested', data: { attempt: 1, openBefore: 1_900_000_000_000 } },
  ])
})
afterEach(() => market.close())

const makeOutpointAccepted = (n: number, publishUntil: number) => {
  const window = { seenBefore: publishUntil + 1, namedBefore: publishUntil - 1, publishUntil }
  return { type: 'OutpointAccepted', data: { attempt: 1, outpoint: createOutpoint(n), window } }
}
const addTransaction = async (transaction: string) => market.gql(ADD, { input: { order_id: ORDER, transaction } }, key)
const fetchOrder = async () => readPath(await market.gql(GET, {}, key), 'user.market.orders.get_order')

test.each([
  ['opening window', 105, 105],
  ['payment', 230, 200],
])('broadcast_until_height is the lower of two heights, here the height of the %s', async (_, publishUntil, expected) => {
  assert.deepEqual(await fetchOrder(), { outpoint: null, broadcast_until_height: null })
  market.respondWith(async (_ask, { commandId }) => {
    const submission = { type: 'OutpointSubmitted', data: { attempt: 1, outpoint: createOutpoint(1), attestation: null } }
    await market.projectFacts('order', ORDER, [submission], commandId)
    await market.projectFacts('order', ORDER, [makeOutpointAccepted(1, publishUntil)])
  })
  const answer = await addTransaction(createOutpoint(1))
  assert.deepEqual(readPath(answer, 'market.order.seller.add_transaction'), { success: true, broadcast_until_height: expected })
  assert.deepEqual(await fetchOrder(), { outpoint: createOutpoint(1), broadcast_until_height: expected })
})

test('an output index that no short channel id can contain is refused, and no command is sent', async () => {
  const { errors } = await addTransaction(createOutpoint(1).replace(/:.*/, ':65536'))
  assert.match(errors?.[0]?.message ?? '', /at most 65535; a short channel id cannot name a higher one$/)
  assert.equal(market.sent.length, 0)
})
