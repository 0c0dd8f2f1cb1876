import type { OrderFact } from '@penstock/contracts/order.ts'
import { attestationOf, candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'

const fact = <T extends OrderFact['type']>(type: T, data: Extract<OrderFact, { type: T }>['data']): OrderFact =>
  ({ type, v: 1, data }) as unknown as OrderFact // TypeScript does not see that a type and its own data belong together

const [lost, named] = [outpointOf(1), outpointOf(2)]
const paymentHash = 'a'.repeat(64)
const payout = {
  attempt: 2,
  request: 'lnbcrt1',
  paymentHash,
  payee: candidateOf(2).sellerPubkey,
  amountMsat: '2500000',
  expiresAt: 9,
}

const issued = [
  fact('OrderPlaced', { ...orderTermsOf(), approveBefore: null }),
  fact('SellerAccepted', { by: candidateOf(1).sellerAccountId, standing: true }),
  fact('HoldIssued', { paymentHash, invoice: 'lnbcrt1', expiresAt: 3_600_000 }),
]
const asked = (attempt: number) => [
  fact('AttemptStarted', { attempt, candidate: candidateOf(attempt) }),
  fact('OpeningAsked', { attempt, openBefore: 21_600_000 }),
]
const paid = [
  ...issued,
  fact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 220 }),
  ...asked(1),
]

/** Orders from their first fact to their last: one that was sold by the second seller, one that nobody served, one unpaid. */
export const histories: readonly (readonly OrderFact[])[] = [
  [
    ...paid,
    fact('OutpointOffered', { attempt: 1, outpoint: lost, attestation: null }),
    fact('OutpointRefused', { attempt: 1, outpoint: lost, reason: 'It serves another order.' }),
    fact('AttemptFailed', { attempt: 1, reason: 'It named no other in time.', blamed: true }),
    ...asked(2),
    fact('PayoutInvoiceOffered', payout),
    fact('PayoutInvoiceTaken', { paymentHash }),
    fact('OutpointOffered', { attempt: 2, outpoint: named, attestation: attestationOf(named) }),
    fact('OutpointClaimed', { attempt: 2, outpoint: named }),
    fact('OutpointNamed', { attempt: 2, outpoint: named }),
    fact('FundingSeen', { outpoint: named }),
    fact('FundingConfirmed', { outpoint: named, height: 120, channelId: '120x1x0' }),
    fact('FundingReorged', { outpoint: named }),
    fact('FundingConfirmed', { outpoint: named, height: 121, channelId: '121x1x0' }),
    fact('ChannelOpened', { outpoint: named, confirmations: 3 }),
    fact('SettlingStarted', { outpoint: named, lastHeight: false }),
    fact('OrderValid', { settledAt: 5 }),
    fact('Told', { what: 'match-used', key: '2' }),
    fact('PayoutNoted', { what: 'paid', detail: null }),
    fact('MonitoringFinished', { attempt: 2, early: false, closedBy: null }),
  ],
  [
    ...paid,
    fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason: 'Nobody opened.', blamed: true, by: null }),
    fact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false }),
    fact('Told', { what: 'hold-closed', key: '1' }),
  ],
  [...issued, fact('BuyerFailedToPay', { reason: 'The invoice expired.' }), fact('LateNoted', { what: 'hold', detail: null })],
]
