import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import type { CommandResponder, GatewayHarness, FactInput } from '../gateway-harness.fixture.ts'
import type { QuoteRequest } from './purchase/place-order.ts'

export const BUYER_URI = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798@10.0.0.7:9735'

export const createOrderPlacedFact = (terms: Partial<OrderTerms> = {}): FactInput => ({
  type: 'OrderPlaced',
  data: { ...createOrderTerms(), approveBefore: null, ...terms },
})
export const autoAcceptedFact: FactInput = {
  type: 'SellerAccepted',
  data: { by: createOrderTerms().candidate.sellerAccountId, autoAccepted: true },
}
/** The preimage of the payment of `fakeHoldIssuedFact`. */
export const FAKE_PREIMAGE = 'e5'.repeat(32)

export const fakeHoldIssuedFact: FactInput = {
  type: 'HoldIssuedRecorded',
  data: { paymentHash: paymentHashOf(FAKE_PREIMAGE), invoice: 'lnbcrt30u1fake', expiresAt: 1_900_000_000_000 },
}

/** Answers every RequestQuote with an order that has an invoice. */
export const answerWithOrders =
  (harness: GatewayHarness): CommandResponder =>
  async (ask) => {
    if (ask.command.type !== 'RequestQuote') return
    const { source, buyer, destination, isPrivate, railsOnly, usdCents, record, lsps } = ask.command.data as QuoteRequest // sent by the gateway
    await harness.projectFacts('order', ask.id, [
      createOrderPlacedFact({ source, buyer, destination, isPrivate, railsOnly, usdCents, record, lsps }),
      autoAcceptedFact,
    ])
    await harness.projectFacts('order', ask.id, [fakeHoldIssuedFact])
  }

/** Makes the market refuse all purchases as busy. Each later use of the given stores fails. */
export function makeBusy(
  { gateway }: GatewayHarness,
  busyForSeconds: number,
  unused: readonly ('views' | 'records')[] = ['views', 'records'],
): void {
  const store = new Proxy({}, { get: (_, name) => assert.fail(`a refused purchase uses ${String(name)} of a store`) })
  const admission = { enter: () => ({ busyForSeconds }), isFull: () => true }
  Object.assign(gateway, { admission, ...Object.fromEntries(unused.map((name) => [name, store])) })
}
