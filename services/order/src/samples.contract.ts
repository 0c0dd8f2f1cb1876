import type { OrderFact } from '@penstock/contracts/order.ts'
import { candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { fact } from './fact.ts'

/** One order on its way to a channel by seller 1, who accepts by a standing order: each list goes on from the one before. */
export const standing: readonly OrderFact[] = [
  fact('OrderPlaced', { ...orderTermsOf(), approveBefore: null }),
  fact('SellerAccepted', { by: candidateOf(1).sellerAccountId, standing: true }),
]
export const issued = [...standing, fact('HoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 })]
export const held = [
  ...issued,
  fact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 208 }),
]
export const started = [...held, fact('AttemptStarted', { attempt: 1, candidate: candidateOf(1) })]
export const asked = [...started, fact('OpeningAsked', { attempt: 1, openBefore: 5000 })]
export const offered = [...asked, fact('OutpointOffered', { attempt: 1, outpoint: outpointOf(1), attestation: null })]
export const claimed = [...offered, fact('OutpointClaimed', { attempt: 1, outpoint: outpointOf(1) })]
export const named = [...claimed, fact('OutpointNamed', { attempt: 1, outpoint: outpointOf(1) })]

/** Seller 1 was late, and seller 2 is asked instead. */
export const replaced = [
  ...asked,
  fact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true }),
  fact('AttemptStarted', { attempt: 2, candidate: candidateOf(2) }),
  fact('OpeningAsked', { attempt: 2, openBefore: 9000 }),
]
