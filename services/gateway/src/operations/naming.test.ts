import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { candidateOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { accepted, issued, placed } from '../fake-market.contract.ts'
import { at, type Stage, stage } from '../stage.contract.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const SELLER = candidateOf(1).sellerAccountId
const ADD = `mutation T($input: SellerAddTransactionInput!) { market { order { seller { add_transaction(input: $input) {
  success broadcast_until_height } } } } }`
const GET = `{ user { market { orders { get_order(order_id: "${ORDER}") { outpoint broadcast_until_height } } } } }`

let market: Stage
let key: string
beforeEach(async () => {
  market = await stage()
  key = newCredential('pak_', market.gateway.ids)
  const keyHash = hashCredential(market.gateway.pepper, key)
  const created = { keyId: SELLER, keyHash, prefix: 'pak_', suffix: 'x', nameRecord: null, expiresAt: null }
  await market.happens('account', SELLER, [{ type: 'ApiKeyCreated', data: created }])
  await market.happens('order', ORDER, [
    placed(),
    accepted,
    issued,
    {
      type: 'PaymentHeld',
      data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 },
    },
    { type: 'AttemptStarted', data: { attempt: 1, candidate: candidateOf(1) } },
    { type: 'OpeningAsked', data: { attempt: 1, openBefore: 1_900_000_000_000 } },
  ])
})
afterEach(() => market.close())

const named = (n: number, publishUntil: number) => {
  const window = { seenBefore: publishUntil + 1, namedBefore: publishUntil - 1, publishUntil }
  return { type: 'OutpointNamed', data: { attempt: 1, outpoint: outpointOf(n), window } }
}
const add = async (transaction: string) => market.gql(ADD, { input: { order_id: ORDER, transaction } }, key)
const shown = async () => at(await market.gql(GET, {}, key), 'user.market.orders.get_order')

test.each([
  ['of the window', 105, 105],
  ['of the payment', 230, 200],
])('the permit has a last height, the lower one: that %s', async (_, publishUntil, expected) => {
  assert.deepEqual(await shown(), { outpoint: null, broadcast_until_height: null })
  market.answers(async (_ask, { commandId }) => {
    const offered = { type: 'OutpointOffered', data: { attempt: 1, outpoint: outpointOf(1), attestation: null } }
    await market.happens('order', ORDER, [offered], commandId)
    await market.happens('order', ORDER, [named(1, publishUntil)])
  })
  const answer = await add(outpointOf(1))
  assert.deepEqual(at(answer, 'market.order.seller.add_transaction'), { success: true, broadcast_until_height: expected })
  assert.deepEqual(await shown(), { outpoint: outpointOf(1), broadcast_until_height: expected })
})

test('an output that no short channel id can name is refused before anybody is asked', async () => {
  const { errors } = await add(outpointOf(1).replace(/:.*/, ':65536'))
  assert.match(errors?.[0]?.message ?? '', /at most 65535; a short channel id cannot name a higher one$/)
  assert.equal(market.sent.length, 0)
})
