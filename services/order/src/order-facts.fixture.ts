import type { OrderFact } from '@penstock/contracts/order.ts'
import { createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import { orderFact } from './outcomes.ts'

/** The facts of one order up to the outpoint of seller 1, whose offer auto-accepts. Each list extends the previous list. */
export const acceptedFacts: readonly OrderFact[] = [
  orderFact('OrderPlaced', { ...createOrderTerms(), approveBefore: null }),
  orderFact('SellerAccepted', { by: createCandidate(1).sellerAccountId, autoAccepted: true }),
]
export const invoiceIssuedFacts = [
  ...acceptedFacts,
  orderFact('HoldIssuedRecorded', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 }),
]
export const paymentHeldFacts = [
  ...invoiceIssuedFacts,
  orderFact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 208 }),
]
export const attemptStartedFacts = [
  ...paymentHeldFacts,
  orderFact('AttemptStarted', { attempt: 1, candidate: createCandidate(1) }),
]
export const openRequestedFacts = [...attemptStartedFacts, orderFact('ChannelOpenRequested', { attempt: 1, openBefore: 5000 })]
export const outpointSubmittedFacts = [
  ...openRequestedFacts,
  orderFact('OutpointSubmitted', { attempt: 1, outpoint: createOutpoint(1), attestation: null }),
]
export const outpointClaimedFacts = [
  ...outpointSubmittedFacts,
  orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: createOutpoint(1) }),
]
export const outpointAcceptedFacts = [
  ...outpointClaimedFacts,
  orderFact('OutpointAccepted', { attempt: 1, outpoint: createOutpoint(1) }),
]

/** Seller 1 was late, and seller 2 is asked to open instead. */
export const sellerReplacedFacts = [
  ...openRequestedFacts,
  orderFact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true }),
  orderFact('AttemptStarted', { attempt: 2, candidate: createCandidate(2) }),
  orderFact('ChannelOpenRequested', { attempt: 2, openBefore: 9000 }),
]
