import { hash } from 'node:crypto'
import {
  lifecycleAttestation,
  candidate,
  createChannelEvidence,
  FUNDED_AT,
  recordHeldData,
  HELD_AT,
  recordHoldHeldData,
  issueHoldData,
  lifecycleInvoice,
  feeLimitData,
  findSellerNeed,
  lifecycleNetwork,
  nodeViewData,
  registerOutpointData,
  outpoint,
  payoutHash,
  payoutInvoiceData,
  paymentHash,
  createQuoteEnrichment,
  RECEIVED_MSAT,
  payoutRequest,
  terms,
  watchOutpointData,
  requestQuoteData,
} from './order-lifecycle-data.ts'

/** One command of an order's lifecycle. `extra` is the data that enrichment would have added. */
export type LifecycleStep = { readonly stream: string; readonly type: string; readonly data: object; readonly extra?: object }

const CHANNEL_ID = `${FUNDED_AT}x1x0`
const { requiredConfirmations: confirmations } = terms
const by = candidate.sellerAccountId

/**
 * Lists the commands to the order's own streams in the order of a sale, from the quote request to the seller's payout. The
 * streams of offers and sellers are left out, because orders share them.
 */
export function listLifecycleSteps(id: string, now: number): readonly LifecycleStep[] {
  const factories = createStepFactories(id)
  return [...listStepsToHold(factories, now), ...listStepsToOutpoint(factories, id), ...listStepsToPayout(factories, now)]
}

type StepFactory = (type: string, data: object, extra?: object) => LifecycleStep

function createStepFactories(id: string) {
  const createFactory =
    (stream: string): StepFactory =>
    (type, data, extra) => ({ stream, type, data, ...(extra && { extra }) })
  const claimId = hash('sha256', id)
  return {
    quote: createFactory(`quote-${id}`),
    order: createFactory(`order-${id}`),
    settlement: createFactory(`settlement-${id}`),
    match: createFactory(`match-${id}`),
    channel: createFactory(`channel-${id}`),
    payhash: createFactory(`payhash-${claimId}`),
    claim: createFactory(`outpoint-${claimId}:0`),
  }
}
type StepFactories = ReturnType<typeof createStepFactories>

const listStepsToHold = ({ quote, order, settlement }: StepFactories, now: number): readonly LifecycleStep[] => {
  const expiresAt = now + 3_600_000
  return [
    quote('RequestQuote', requestQuoteData, createQuoteEnrichment(now)),
    order('PlaceOrder', terms),
    settlement('IssueHold', issueHoldData, nodeViewData),
    settlement('RecordIssued', { invoice: lifecycleInvoice, expiresAt }),
    order('RecordHoldIssued', { paymentHash, invoice: lifecycleInvoice, expiresAt }),
    // Settlement records what the node shows; the order records settlement's fact.
    settlement('RecordHeld', recordHeldData),
    order('RecordHoldHeld', recordHoldHeldData),
  ]
}

const listStepsToOutpoint = (
  { order, settlement, match, channel, payhash, claim }: StepFactories,
  id: string,
): readonly LifecycleStep[] => [
  match(
    'FindSeller',
    { attempt: 1, need: findSellerNeed, first: candidate, only: false, autoAccepted: true, tried: [] },
    { candidates: [candidate], fundingFees: null },
  ),
  // Round 0 is the first request for the seller's capacity.
  match('RecordReservation', { attempt: 1, round: 0, offerId: candidate.offerId, granted: true, reason: null }),
  order('RecordMatched', { attempt: 1, candidate }),
  settlement('CheckReach', { attempt: 1 }),
  settlement('RecordReach', { attempt: 1, reached: true, reason: 'It answers.', height: HELD_AT }),
  order('RecordBuyerReach', { check: 1, reached: true, reason: 'It answers.', height: HELD_AT }),
  order('Accept', { by, request: payoutRequest }, { network: lifecycleNetwork }),
  settlement('SubmitPayoutInvoice', payoutInvoiceData, { network: lifecycleNetwork }),
  payhash('ClaimPayhash', { orderId: id }),
  settlement('RecordPayhash', { paymentHash: payoutHash, granted: true }, feeLimitData),
  order('RecordPayoutInvoice', { paymentHash: payoutHash, accepted: true, reason: null }),
  order('SubmitOutpoint', { by, outpoint, attestation: lifecycleAttestation }),
  claim('ClaimOutpoint', { orderId: id, attempt: 1 }),
  order('RecordOutpointClaim', { attempt: 1, outpoint, granted: true }),
  settlement('RegisterOutpoint', registerOutpointData, {
    height: HELD_AT,
    seesMempool: true,
    confirmedAtHeight: null,
    enteredMempoolAt: null,
    heldSince: {}, // by payment hash
  }),
  order('RecordOutpointRegistered', {
    attempt: 1,
    outpoint,
    registered: true,
    attested: true,
    reason: null,
    tooLate: false,
    outpointNumber: 1,
  }),
  channel('WatchOutpoint', watchOutpointData, { height: HELD_AT, seesMempool: true }),
]

function listStepsToPayout({ order, settlement, match, channel }: StepFactories, now: number): readonly LifecycleStep[] {
  const observe = (height: number) => channel('Observe', { outpoint, evidence: createChannelEvidence(height), seesMempool: true })
  const guard = (height: number) =>
    settlement(
      'Guard',
      { height, outpoint, evidence: createChannelEvidence(height), observedAt: 0, nodeReady: true },
      feeLimitData,
    )
  return [
    observe(FUNDED_AT),
    order('RecordFundingSeen', { outpoint, outpointNumber: 1 }),
    order('RecordFundingConfirmed', { outpoint, height: FUNDED_AT, channelId: CHANNEL_ID, outpointNumber: 1 }),
    observe(FUNDED_AT + 1),
    observe(FUNDED_AT + 2),
    order('RecordConfirmationsReached', { outpoint, confirmations, outpointNumber: 1 }),
    settlement('SettleHold', { outpoint }),
    guard(FUNDED_AT + 2),
    settlement('RecordSettled', { settledAt: now, receivedMsat: RECEIVED_MSAT }),
    order('RecordSettling', { outpoint, confirmations, lastHeight: false }),
    order('RecordHoldSettled', { settledAt: now }),
    match('UseMatch', { attempt: 1 }),
    channel('StartLease', { outpoint }, { height: FUNDED_AT + 2 }),
    observe(FUNDED_AT + 3),
    observe(FUNDED_AT + 4),
    observe(FUNDED_AT + 5),
    guard(FUNDED_AT + 5),
    settlement('RecordPayout', { state: 'succeeded', attempt: 1, feeMsat: '10' }),
    order('RecordPayout', { what: 'paid', detail: payoutHash }),
  ]
}
