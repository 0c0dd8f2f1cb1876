import type { OrderTerms } from '@penstock/contracts/order.ts'
import { orderTermsOf } from '@penstock/testkit/order-terms.ts'
import type { Answering, Stage, Told } from './stage.contract.ts'
import type { Wish } from './operations/place-order.ts'

export const BUYER_URI = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798@10.0.0.7:9735'

export const placed = (terms: Partial<OrderTerms> = {}): Told => ({
  type: 'OrderPlaced',
  data: { ...orderTermsOf(), approveBefore: null, ...terms },
})
export const accepted: Told = { type: 'SellerAccepted', data: { by: orderTermsOf().candidate.sellerAccountId, standing: true } }
export const issued: Told = {
  type: 'HoldIssued',
  data: { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt30u1fake', expiresAt: 1_900_000_000_000 },
}

/** Every wish becomes an order with an invoice. */
export const sells =
  (stage: Stage): Answering =>
  async (ask) => {
    if (ask.command.type !== 'RequestQuote') return
    const { source, buyer, destination, isPrivate, railsOnly, usdCents, record, lsps } = ask.command.data as Wish // what the gateway sends
    await stage.happens('order', ask.id, [
      placed({ source, buyer, destination, isPrivate, railsOnly, usdCents, record, lsps }),
      accepted,
    ])
    await stage.happens('order', ask.id, [issued])
  }
