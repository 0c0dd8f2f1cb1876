import type { OrderFact } from '@penstock/contracts/order.ts'
import { createAttestation, createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'

const createFact = <T extends OrderFact['type']>(type: T, data: Extract<OrderFact, { type: T }>['data']): OrderFact =>
  ({ type, v: 1, data }) as unknown as OrderFact // TypeScript cannot see that `data` belongs to `type`

const [refusedOutpoint, acceptedOutpoint] = [createOutpoint(1), createOutpoint(2)]
const paymentHash = 'a'.repeat(64)
const payout = {
  attempt: 2,
  request: 'lnbcrt1',
  paymentHash,
  payee: createCandidate(2).sellerPubkey,
  amountMsat: '2500000',
  expiresAt: 9,
}

const issued = [
  createFact('OrderPlaced', { ...createOrderTerms(), approveBefore: null }),
  createFact('SellerAccepted', { by: createCandidate(1).sellerAccountId, autoAccepted: true }),
  createFact('HoldIssuedRecorded', { paymentHash, invoice: 'lnbcrt1', expiresAt: 3_600_000 }),
]
const createAttempt = (attempt: number) => [
  createFact('AttemptStarted', { attempt, candidate: createCandidate(attempt) }),
  createFact('ChannelOpenRequested', { attempt, openBefore: 21_600_000 }),
]
const paid = [
  ...issued,
  createFact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 220 }),
  ...createAttempt(1),
]

/** Whole histories of three orders: sold by the second seller, paid but served by no seller, and never paid. */
export const orderHistories: readonly (readonly OrderFact[])[] = [
  [
    ...paid,
    createFact('OutpointSubmitted', { attempt: 1, outpoint: refusedOutpoint, attestation: null }),
    createFact('OutpointRefused', { attempt: 1, outpoint: refusedOutpoint, reason: 'It serves another order.' }),
    createFact('AttemptFailed', { attempt: 1, reason: 'It named no other in time.', blamed: true }),
    ...createAttempt(2),
    createFact('PayoutInvoiceSubmittedRecorded', payout),
    createFact('PayoutInvoiceAcceptedRecorded', { paymentHash }),
    createFact('OutpointSubmitted', { attempt: 2, outpoint: acceptedOutpoint, attestation: createAttestation(acceptedOutpoint) }),
    createFact('OutpointClaimedRecorded', { attempt: 2, outpoint: acceptedOutpoint }),
    createFact('OutpointAccepted', { attempt: 2, outpoint: acceptedOutpoint }),
    createFact('FundingSeenRecorded', { outpoint: acceptedOutpoint }),
    createFact('FundingConfirmedRecorded', { outpoint: acceptedOutpoint, height: 120, channelId: '120x1x0' }),
    createFact('FundingReorgedRecorded', { outpoint: acceptedOutpoint }),
    createFact('FundingConfirmedRecorded', { outpoint: acceptedOutpoint, height: 121, channelId: '121x1x0' }),
    createFact('ChannelOpened', { outpoint: acceptedOutpoint, confirmations: 3 }),
    createFact('SettlingStarted', { outpoint: acceptedOutpoint, lastHeight: false }),
    createFact('OrderValid', { settledAt: 5 }),
    createFact('PayoutStatusRecorded', { what: 'paid', detail: null }),
    createFact('MonitoringFinished', { attempt: 2, early: false, closedBy: null }),
  ],
  [
    ...paid,
    createFact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason: 'Nobody opened.', blamed: true, by: null }),
    createFact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false }),
    createFact('Told', { what: 'hold-closed', key: '1' }),
  ],
  [
    ...issued,
    createFact('BuyerFailedToPay', { reason: 'The invoice expired.' }),
    createFact('LateMessageRecorded', { what: 'hold', detail: null }),
  ],
]
