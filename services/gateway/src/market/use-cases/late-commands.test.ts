import { createCandidate, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, NOW, openGatewayHarness } from '../../gateway-harness.fixture.ts'
import { ACCEPT, ADD, BUYER, CANCEL, openingFacts, ORDER, request, SELLER } from './selling.fixture.ts'

const REJECT =
  'mutation R($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
const ATTEST = 'mutation A($input: AttestInput!) { market { offer { attest(input: $input) { success } } } }'

const { sellerPubkey } = createCandidate(1)
const cancellation = { order_id: ORDER, cancellation_reason: 'UNABLE_TO_CONNECT_TO_NODE' }
const attestation = { pubkey: sellerPubkey, confirmed_sats: '7', at: `${NOW}`, signature: 'd'.repeat(104) }

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness()
  market.respondWith((ask, options) => market.projectOutcome(ask, options, { code: 'TEST', message: 'refused' }))
  await market.projectFacts('account', SELLER, [{ type: 'NodeConnected', data: { pubkey: sellerPubkey } }])
  await market.projectFacts('order', ORDER, openingFacts)
})
afterEach(() => market.close())

/** @returns the type and the `notAfter` of the command that a mutation of this account sends */
async function sendMutation(account: string, query: string, input: object) {
  const { errors } = await market.gql(query, { input }, await market.apiKey(account))
  assert.equal(errors?.[0]?.message, 'refused')
  const { ask, options } = market.sent.at(-1) ?? assert.fail()
  return { type: ask.command.type, notAfter: options.notAfter }
}

test.each([
  ['SubmitOutpoint', ADD, { order_id: ORDER, transaction: createOutpoint(1) }],
  ['Accept', ACCEPT, { order_id: ORDER, request }],
  ['Reject', REJECT, { order_id: ORDER }],
  ['Cancel', CANCEL, cancellation],
  ['Attest', ATTEST, attestation],
])('a late %s of a seller is carried out', async (type, query, input) => {
  assert.deepEqual(await sendMutation(SELLER, query, input), { type, notAfter: undefined })
})

test('a late cancellation of a buyer is dropped', async () => {
  const { type, notAfter = 0 } = await sendMutation(BUYER, CANCEL, cancellation)
  assert.equal(type, 'Cancel')
  assert.ok(notAfter > NOW)
})
