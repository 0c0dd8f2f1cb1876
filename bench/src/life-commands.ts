import { hash } from 'node:crypto'
import {
  attestation,
  candidate,
  evidence,
  FUNDED_AT,
  held,
  HELD_AT,
  heldForOrder,
  holdTerms,
  invoice,
  limit,
  need,
  network,
  nodeView,
  noted,
  outpoint,
  payoutHash,
  payoutInvoice,
  paymentHash,
  quoting,
  RECEIVED_MSAT,
  request,
  terms,
  watched,
  wish,
} from './life-terms.ts'

/** A command of an order's life, and what enrichment would have added to its data. */
export type Step = { readonly stream: string; readonly type: string; readonly data: object; readonly extra?: object }

const CHANNEL_ID = `${FUNDED_AT}x1x0`
const { requiredConfirmations: confirmations } = terms
const by = candidate.sellerAccountId

/**
 * From the request for a price to the seller's payout: what users and services tell each of the order's own streams, in the
 * order of a sale. Streams that orders share, those of offers and sellers, are none of them.
 */
export function lifeOf(id: string, now: number): readonly Step[] {
  const at = streamsOf(id)
  return [...untilHeld(at, now), ...untilNamed(at, id), ...untilPaidOut(at, now)]
}

type Tell = (type: string, data: object, extra?: object) => Step

function streamsOf(id: string) {
  const to =
    (stream: string): Tell =>
    (type, data, extra) => ({ stream, type, data, ...(extra && { extra }) })
  const claimed = hash('sha256', id)
  return {
    quote: to(`quote-${id}`),
    order: to(`order-${id}`),
    settlement: to(`settlement-${id}`),
    match: to(`match-${id}`),
    channel: to(`channel-${id}`),
    payhash: to(`payhash-${claimed}`),
    claim: to(`outpoint-${claimed}:0`),
  }
}
type Streams = ReturnType<typeof streamsOf>

const untilHeld = ({ quote, order, settlement }: Streams, now: number): readonly Step[] => {
  const expiresAt = now + 3_600_000
  return [
    quote('RequestQuote', wish, quoting(now)),
    order('PlaceOrder', terms),
    quote('RecordPlaced', {}),
    settlement('IssueHold', holdTerms, nodeView),
    settlement('RecordIssued', { invoice, expiresAt }),
    order('RecordHoldIssued', { paymentHash, invoice, expiresAt }),
    settlement('RecordHeld', held),
    order('RecordHoldHeld', heldForOrder),
  ]
}

const untilNamed = ({ order, settlement, match, channel, payhash, claim }: Streams, id: string): readonly Step[] => [
  match(
    'FindSeller',
    { attempt: 1, need, first: candidate, only: false, tried: [] },
    { candidates: [candidate], fundingFees: null },
  ),
  match('RecordReservation', { attempt: 1, round: 0, offerId: candidate.offerId, granted: true, reason: null }),
  order('RecordMatched', { attempt: 1, candidate }),
  settlement('CheckReach', { attempt: 1 }),
  settlement('RecordReach', { attempt: 1, reached: true, reason: 'It answers.', height: HELD_AT }),
  order('RecordBuyerReach', { look: 1, reached: true, reason: 'It answers.', height: HELD_AT }),
  order('Accept', { by, request }, { network }),
  settlement('GivePayoutInvoice', payoutInvoice, { network }),
  payhash('ClaimPayhash', { orderId: id }),
  settlement('RecordPayhash', { paymentHash: payoutHash, granted: true }, limit),
  order('RecordPayoutInvoice', { paymentHash: payoutHash, taken: true, reason: null }),
  order('NameOutpoint', { by, outpoint, attestation }),
  claim('ClaimOutpoint', { orderId: id, attempt: 1 }),
  order('RecordOutpointClaim', { attempt: 1, outpoint, granted: true }),
  settlement('NoteOutpoint', noted, {
    height: HELD_AT,
    seesMempool: true,
    confirmedAtHeight: null,
    enteredMempoolAt: null,
    heldSince: {},
  }),
  order('RecordOutpointNoted', { attempt: 1, outpoint, noted: true, attested: true, reason: null, tooLate: false, naming: 1 }),
  channel('WatchOutpoint', watched, { height: HELD_AT, seesMempool: true }),
  order('RecordTold', { what: 'watch-started', key: outpoint }),
]

function untilPaidOut({ order, settlement, match, channel }: Streams, now: number): readonly Step[] {
  const observe = (height: number) => channel('Observe', { outpoint, evidence: evidence(height), seesMempool: true })
  const guard = (height: number) =>
    settlement('Guard', { height, outpoint, evidence: evidence(height), lookedAt: 0, nodeReady: true }, limit)
  return [
    observe(FUNDED_AT),
    order('RecordFundingSeen', { outpoint, naming: 1 }),
    order('RecordFundingConfirmed', { outpoint, height: FUNDED_AT, channelId: CHANNEL_ID, naming: 1 }),
    observe(FUNDED_AT + 1),
    observe(FUNDED_AT + 2),
    order('RecordConfirmationsReached', { outpoint, confirmations, naming: 1 }),
    settlement('SettleHold', { outpoint }),
    guard(FUNDED_AT + 2),
    settlement('RecordSettled', { settledAt: now, receivedMsat: RECEIVED_MSAT }),
    order('RecordSettling', { outpoint, confirmations, lastHeight: false }),
    order('RecordHoldSettled', { settledAt: now }),
    match('UseMatch', { attempt: 1 }),
    order('RecordTold', { what: 'match-used', key: '1' }),
    channel('StartLease', { outpoint }, { height: FUNDED_AT + 2 }),
    order('RecordTold', { what: 'lease-started', key: outpoint }),
    observe(FUNDED_AT + 3),
    observe(FUNDED_AT + 4),
    observe(FUNDED_AT + 5),
    guard(FUNDED_AT + 5),
    settlement('RecordPayout', { state: 'succeeded', attempt: 1, feeMsat: '10' }),
    order('RecordPayout', { what: 'paid', detail: payoutHash }),
  ]
}
