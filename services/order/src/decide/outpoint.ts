import type { OrderFact } from '@penstock/contracts/order.ts'
import { MAX_OUTPOINTS_PER_ATTEMPT, type SubmissionWindow } from '@penstock/bitcoin/submission-window.ts'
import { validateFundingOutpoint, normaliseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { describeAttestationFault } from '../attestation.ts'
import type { CommandData } from '../types.ts'
import { explainNoSellerLeft, EXPIRES_TOO_SOON } from './opening.ts'
import { orderFact, type OrderDecision, requestRelease } from '../outcomes.ts'
import { refuseClosing, refuseEnded, refuseNotFound, refuseNotNow } from '../refusal.ts'
import {
  type Attempt,
  findAttemptBy,
  attemptOf,
  hasEnded,
  isSeller,
  isSettling,
  findLiveAttempt,
  outpointKeyOf,
  type PlacedOrder,
  WATCH_STOPPED,
} from '../state.ts'

/** The most outpoints that an order processes, so that sellers cannot fill its stream. */
const MAX_OUTPOINTS = 50

type SubmitOutpointData = CommandData<'SubmitOutpoint'>

/** Records a seller's funding outpoint. The order accepts the outpoint only after settlement has registered it. */
export function submitOutpoint(order: PlacedOrder, data: SubmitOutpointData): OrderDecision {
  if (!isSeller(order, data.by)) return refuseNotFound()
  const fault = validateFundingOutpoint(data.outpoint)
  if (fault !== undefined) return refuse('MALFORMED', fault)
  const outpoint = normaliseOutpoint(data.outpoint) ?? data.outpoint
  if (data.attestation && data.attestation.outpoint !== outpoint)
    return refuse('MALFORMED', 'The attestation is for another outpoint than the transaction')
  const attempt = findAttemptBy(order, data.by)
  const repeatedAnswer = attempt && answerRepeatedSubmission(order, attempt, { ...data, outpoint })
  if (repeatedAnswer) return repeatedAnswer
  if (hasEnded(order)) return refuseEnded(order.endReason ?? order.status)
  if (order.closing) return refuseClosing(order.closing.reason)
  if (!attempt) return refuseNotNow('The order is not paid yet; open the channel when it is')
  return submitNewOutpoint(order, attempt, { ...data, outpoint })
}

/** Answers a repeated submission of an outpoint, which may add the attestation that was missing. */
function answerRepeatedSubmission(
  order: PlacedOrder,
  attempt: Attempt,
  { outpoint, attestation }: SubmitOutpointData,
): OrderDecision | undefined {
  const rejected = order.rejectedOutpoints.find((one) => one.outpoint === outpoint && one.attempt === attempt.number)
  const current = [order.pendingOutpoint, order.outpoint].find(
    (one) => one?.outpoint === outpoint && one.attempt === attempt.number,
  )
  if (!current) return rejected && refuse('OUTPOINT_REFUSED', rejected.reason)
  if (!attestation || hasEnded(order) || order.closing || isSettling(order)) return accept()
  const before = current.attestation
  if (before && hasSameJson(before, attestation)) return accept()
  const fault = refuseAttestation(order, attempt, attestation)
  if (fault) return fault
  return before
    ? refuse('OUTPOINT_REFUSED', 'Another attestation was submitted for this outpoint')
    : accept(orderFact('AttestationGiven', { attempt: attempt.number, outpoint, attestation }))
}

/** Refuses a faulty attestation. The seller may submit the outpoint without an attestation. */
function refuseAttestation(
  { terms }: PlacedOrder,
  { candidate }: Pick<Attempt, 'candidate'>,
  attestation: AttestationData,
): OrderDecision | undefined {
  const sentence = describeAttestationFault(terms, candidate, attestation)
  return sentence === undefined
    ? undefined
    : refuse('ATTESTATION_REFUSED', `${sentence}; you may submit the transaction without it`)
}

// Compares JSON texts, because one schema parsed both objects and so fixed the order of their fields.
const hasSameJson = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other)

function submitNewOutpoint(order: PlacedOrder, attempt: Attempt, { outpoint, attestation }: SubmitOutpointData): OrderDecision {
  const { number, status, candidate } = attempt
  if (order.status !== 'WAITING_FOR_CHANNEL_OPEN' && order.status !== 'SELLER_SENT_TRANSACTION')
    return refuseNotNow('A funding transaction has been seen; it can no longer be replaced')
  if (order.pendingOutpoint) return refuse('BUSY', 'Another funding transaction is being recorded; try again in a moment')
  if (order.outpointCount >= MAX_OUTPOINTS) return refuse('TOO_MANY', 'Too many transactions were submitted for this order')
  if (order.outpoint && order.outpoint.attempt !== number) return refuse('REPLACED', 'Another seller opens this channel')
  if (order.rejectedOutpoints.some((one) => one.outpoint === outpoint))
    return refuse('OUTPOINT_REFUSED', 'This outpoint was refused before')
  if (attempt.outpoints.length >= MAX_OUTPOINTS_PER_ATTEMPT && !attempt.outpoints.includes(outpoint))
    return refuse('TOO_MANY', `${MAX_OUTPOINTS_PER_ATTEMPT} transactions were submitted for this order, which is the most`)
  if (status === 'accepted') return refuse('BUSY', "The buyer's node is still being tried; try again in a moment")
  const fault = attestation && refuseAttestation(order, { candidate }, attestation)
  if (fault) return fault
  const data = { attempt: number, outpoint, attestation }
  const isLate = status === 'failed' || status === 'replaced'
  if (isLate) return accept(orderFact('LateOutpointSubmitted', data))
  // The seller returns to an earlier outpoint, which this order has already claimed.
  return order.claimedOutpoints.includes(outpointKeyOf(data))
    ? accept(orderFact('OutpointSubmitted', data), orderFact('OutpointClaimedRecorded', { attempt: number, outpoint }))
    : accept(orderFact('OutpointSubmitted', data))
}

export function recordReservationRenewal(
  order: PlacedOrder,
  { attempt, granted, reason }: CommandData<'RecordReservationRenewal'>,
): OrderDecision {
  if (order.pendingOutpoint?.stage !== 'renewing' || order.pendingOutpoint.attempt !== attempt) return accept()
  if (!granted) return accept(...refuseOutpoint(order, reason ?? 'The capacity has been sold to another buyer'))
  if (order.closing) return accept(...refuseOutpoint(order, order.closing.reason))
  const { outpoint } = order.pendingOutpoint
  const reservationRenewedFact = orderFact('ReservationRenewedRecorded', { attempt, outpoint })
  return order.claimedOutpoints.includes(outpointKeyOf({ attempt, outpoint }))
    ? accept(reservationRenewedFact, orderFact('OutpointClaimedRecorded', { attempt, outpoint }))
    : accept(reservationRenewedFact)
}

export function recordOutpointClaim(
  order: PlacedOrder,
  { attempt, outpoint, granted }: CommandData<'RecordOutpointClaim'>,
): OrderDecision {
  if (
    order.pendingOutpoint?.stage !== 'claiming' ||
    order.pendingOutpoint.outpoint !== outpoint ||
    order.pendingOutpoint.attempt !== attempt
  )
    return accept()
  if (order.closing) return accept(...refuseOutpoint(order, order.closing.reason))
  if (!granted) return accept(...refuseOutpoint(order, 'This outpoint serves another order'))
  if (order.status !== 'WAITING_FOR_CHANNEL_OPEN' && order.status !== 'SELLER_SENT_TRANSACTION')
    return accept(...refuseOutpoint(order, 'The previous transaction has been seen'))
  return accept(orderFact('OutpointClaimedRecorded', { attempt, outpoint }))
}

/**
 * Settlement proves the outpoint that it registered last. So the order accepts that outpoint even if the funding of the previous
 * outpoint was seen meanwhile. The registration of an earlier submission is ignored, because settlement may still refuse the
 * present submission.
 */
export function recordOutpointRegistered(order: PlacedOrder, data: CommandData<'RecordOutpointRegistered'>): OrderDecision {
  const { attempt, outpoint, registered, attested, reason, tooLate, outpointNumber: number } = data
  const current = [order.pendingOutpoint, order.outpoint].find((one) => one?.outpoint === outpoint)
  if (number !== 0 && number !== current?.number) return accept()
  const isPending =
    order.pendingOutpoint?.stage === 'noting' &&
    order.pendingOutpoint.outpoint === outpoint &&
    order.pendingOutpoint.attempt === attempt
  if (!isPending) return accept()
  if (!registered) return accept(...refuseOutpoint(order, reason ?? 'It is too late for another funding transaction', tooLate))
  if (order.closing) return accept(...refuseOutpoint(order, order.closing.reason))
  return accept(...acceptOutpoint(order, attempt, outpoint, data.window), ...(attested ? [] : repeatAttestation(order)))
}

/**
 * The attestation of a pending outpoint that settlement registered without it. Recorded after the acceptance, it counts as late,
 * so it is sent until settlement has registered it.
 */
function repeatAttestation({ pendingOutpoint }: PlacedOrder): readonly OrderFact[] {
  if (!pendingOutpoint?.attestation) return []
  const { attempt, outpoint, attestation } = pendingOutpoint
  return [orderFact('AttestationGiven', { attempt, outpoint, attestation })]
}

/** Accepts the outpoint. If an earlier seller submitted it, the live attempt of its successor fails without blame. */
export function acceptOutpoint(
  order: PlacedOrder,
  attempt: number,
  outpoint: string,
  window: SubmissionWindow | undefined,
): readonly OrderFact[] {
  const live = findLiveAttempt(order)
  const firstWindow = attemptOf(order, attempt)?.window ?? window
  const accepted = orderFact('OutpointAccepted', { attempt, outpoint, ...(firstWindow && { window: firstWindow }) })
  if (!live || live.number === attempt) return [accepted]
  return [
    orderFact('AttemptFailed', { attempt: live.number, reason: 'An earlier seller opened the channel after all', blamed: false }),
    accepted,
  ]
}

const FUNDING_LOST = 'The funding transaction that was submitted before is lost'

/** @returns the release that waited for the pending outpoint, if the watch of the accepted outpoint ended meanwhile */
function releaseFailedOutpoint(order: PlacedOrder): OrderFact | undefined {
  const { outpoint: accepted, acknowledged } = order
  if (accepted?.defect) return requestRelease(order, 'INVALID_CHANNEL_OPENING', accepted.defect.reason, accepted.defect.blamed)
  return accepted && acknowledged.includes(WATCH_STOPPED)
    ? requestRelease(order, 'SELLER_FAILED_TO_SEND_SWAP', FUNDING_LOST, true)
    : undefined
}

/** @param tooLate too few blocks are left for any new outpoint, so the payment is released unless an outpoint is accepted */
function refuseOutpoint(order: PlacedOrder, reason: string, tooLate = false): readonly OrderFact[] {
  if (!order.pendingOutpoint) return []
  const { attempt, outpoint } = order.pendingOutpoint
  const rejected = orderFact('OutpointRefused', { attempt, outpoint, reason })
  if (order.closing) return [rejected]
  const releaseFact = releaseFailedOutpoint(order)
  if (releaseFact) return [rejected, releaseFact]
  const noSellerReason = tooLate && !order.outpoint ? EXPIRES_TOO_SOON : explainNoSellerLeft(order)
  return noSellerReason === undefined
    ? [rejected]
    : [rejected, requestRelease(order, 'SELLER_FAILED_TO_OPEN_CHANNEL', noSellerReason)]
}
