import type { OrderFact } from '@penstock/contracts/order.ts'
import { MOST_NAMINGS, type NamingWindow } from '@penstock/bitcoin/naming-window.ts'
import { fundingOutpointFault, normaliseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { Attestation } from '@penstock/contracts/shapes.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { wrongAttestation } from './attestation.ts'
import type { DataOf } from './command.ts'
import { nothingLeft, released, TOO_SOON } from './decide.opening.ts'
import { fact, type OrderDecision, release } from './fact.ts'
import { closing, ended, notFound, notNow } from './refusal.ts'
import {
  type Attempt,
  attemptBy,
  attemptOf,
  isEnded,
  isSeller,
  isSettling,
  liveAttempt,
  outpointKey,
  type Placed,
  WATCH_STOPPED,
} from './state.ts'

/** So many outpoints an order looks at: a seller that names and names fills no stream. */
const MOST_OFFERS = 50

type Naming = DataOf<'NameOutpoint'>

/** A seller names its funding outpoint: once settlement has noted it, it counts, and only then the seller is answered. */
export function nameOutpoint(order: Placed, data: Naming): OrderDecision {
  if (!isSeller(order, data.by)) return notFound()
  const fault = fundingOutpointFault(data.outpoint)
  if (fault !== undefined) return refuse('MALFORMED', fault)
  const outpoint = normaliseOutpoint(data.outpoint) ?? data.outpoint
  if (data.attestation && data.attestation.outpoint !== outpoint)
    return refuse('MALFORMED', 'The attestation is for another outpoint than the transaction')
  const attempt = attemptBy(order, data.by)
  const known = attempt && repeated(order, attempt, { ...data, outpoint })
  if (known) return known
  if (isEnded(order)) return ended(order.ending ?? order.status)
  if (order.closing) return closing(order.closing.reason)
  if (!attempt) return notNow('The order is not paid yet; open the channel when it is')
  return offered(order, attempt, { ...data, outpoint })
}

/** The same outpoint again, late or early: right, and perhaps with the attestation that was missing. */
function repeated(order: Placed, attempt: Attempt, { outpoint, attestation }: Naming): OrderDecision | undefined {
  const refused = order.refused.find((one) => one.outpoint === outpoint && one.attempt === attempt.number)
  const current = [order.offered, order.named].find((one) => one?.outpoint === outpoint && one.attempt === attempt.number)
  if (!current) return refused && refuse('OUTPOINT_REFUSED', refused.reason)
  if (!attestation || isEnded(order) || order.closing || isSettling(order)) return accept()
  const before = current.attestation
  if (before && sameText(before, attestation)) return accept()
  const wrong = attestationFault(order, attempt, attestation)
  if (wrong) return wrong
  return before
    ? refuse('OUTPOINT_REFUSED', 'Another attestation was given for this outpoint')
    : accept(fact('AttestationGiven', { attempt: attempt.number, outpoint, attestation }))
}

/** The outpoint may be named without it: whoever signs badly loses no time, and may call again. */
function attestationFault(
  { terms }: Placed,
  { candidate }: Pick<Attempt, 'candidate'>,
  attestation: Attestation,
): OrderDecision | undefined {
  const sentence = wrongAttestation(terms, candidate, attestation)
  return sentence === undefined
    ? undefined
    : refuse('ATTESTATION_REFUSED', `${sentence}; the transaction may be named without it`)
}

// Both came through the same schema, which fixes the order of their fields.
const sameText = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other)

function offered(order: Placed, attempt: Attempt, { outpoint, attestation }: Naming): OrderDecision {
  const { number, status, candidate } = attempt
  if (order.status !== 'WAITING_FOR_CHANNEL_OPEN' && order.status !== 'SELLER_SENT_TRANSACTION')
    return notNow('A funding transaction has been seen; it can no longer be replaced')
  if (order.offered) return refuse('BUSY', 'Another funding transaction is being recorded; ask again in a moment')
  if (order.offers >= MOST_OFFERS) return refuse('TOO_MANY', 'Too many transactions were named for this order')
  if (order.named && order.named.attempt !== number) return refuse('REPLACED', 'Another seller opens this channel')
  if (order.refused.some((one) => one.outpoint === outpoint))
    return refuse('OUTPOINT_REFUSED', 'This outpoint was refused before')
  if (attempt.outpoints.length >= MOST_NAMINGS && !attempt.outpoints.includes(outpoint))
    return refuse('TOO_MANY', `${MOST_NAMINGS} transactions were named for this order already, and no other one is taken`)
  if (status === 'accepted') return refuse('BUSY', "The buyer's node is still being tried; ask again in a moment")
  const wrong = attestation && attestationFault(order, { candidate }, attestation)
  if (wrong) return wrong
  const data = { attempt: number, outpoint, attestation }
  const isLate = status === 'failed' || status === 'replaced'
  if (isLate) return accept(fact('LateOutpointOffered', data))
  // The seller goes back to an outpoint that it had named before: it is this order's already.
  return order.claims.includes(outpointKey(data))
    ? accept(fact('OutpointOffered', data), fact('OutpointClaimed', { attempt: number, outpoint }))
    : accept(fact('OutpointOffered', data))
}

export function rereserved(order: Placed, { attempt, granted, reason }: DataOf<'RecordRereserved'>): OrderDecision {
  if (order.offered?.stage !== 'rereserving' || order.offered.attempt !== attempt)
    return accept(...(granted ? [] : released(order, attempt)))
  if (!granted) {
    const nothing = fact('Told', { what: 'match-released', key: `${attempt}` })
    return accept(...refuseOffer(order, reason ?? 'The capacity is sold to somebody else by now'), nothing)
  }
  if (order.closing) return accept(...refuseOffer(order, order.closing.reason))
  const { outpoint } = order.offered
  const again = fact('CapacityRereserved', { attempt, outpoint })
  return order.claims.includes(outpointKey({ attempt, outpoint }))
    ? accept(again, fact('OutpointClaimed', { attempt, outpoint }))
    : accept(again)
}

export function claimed(order: Placed, { attempt, outpoint, granted }: DataOf<'RecordOutpointClaim'>): OrderDecision {
  if (order.offered?.stage !== 'claiming' || order.offered.outpoint !== outpoint || order.offered.attempt !== attempt)
    return accept()
  if (order.closing) return accept(...refuseOffer(order, order.closing.reason))
  if (!granted) return accept(...refuseOffer(order, 'This outpoint serves another order'))
  if (order.status !== 'WAITING_FOR_CHANNEL_OPEN' && order.status !== 'SELLER_SENT_TRANSACTION')
    return accept(...refuseOffer(order, 'The transaction that was named before has been seen'))
  return accept(fact('OutpointClaimed', { attempt, outpoint }))
}

/**
 * What settlement has noted is what it proves with, so it counts even if the outpoint before was seen meanwhile. That an
 * earlier naming of the outpoint was noted is no answer: settlement may refuse this one.
 */
export function outpointNoted(order: Placed, data: DataOf<'RecordOutpointNoted'>): OrderDecision {
  const { attempt, outpoint, noted, attested, reason, tooLate, naming: number } = data
  const current = [order.offered, order.named].find((one) => one?.outpoint === outpoint)
  if (number !== 0 && number !== current?.number) return accept()
  const isOffered = order.offered?.stage === 'noting' && order.offered.outpoint === outpoint && order.offered.attempt === attempt
  const told = fact('Told', { what: 'attestation-noted', key: outpoint })
  if (!isOffered) {
    const isAwaited = order.named?.outpoint === outpoint && order.named.attestation !== null && !isEnded(order)
    return isAwaited && (attested || !noted) && !order.told.includes(`attestation-noted ${outpoint}`) ? accept(told) : accept()
  }
  if (!noted) return accept(...refuseOffer(order, reason ?? 'It is too late for another funding transaction', tooLate))
  if (order.closing) return accept(...refuseOffer(order, order.closing.reason))
  return accept(...naming(order, attempt, outpoint, data.window), ...(attested ? [told] : []))
}

/** The outpoint counts. A successor whose predecessor opened after all has lost its turn without blame. */
export function naming(order: Placed, attempt: number, outpoint: string, window: NamingWindow | undefined): readonly OrderFact[] {
  const live = liveAttempt(order)
  const first = attemptOf(order, attempt)?.window ?? window
  const named = fact('OutpointNamed', { attempt, outpoint, ...(first && { window: first }) })
  if (!live || live.number === attempt) return [named]
  return [fact('AttemptFailed', { attempt: live.number, reason: 'The seller before opened after all', blamed: false }), named]
}

const LOST = 'The funding transaction that was named before is lost'

/** The watch has ended while another outpoint was being recorded, which might have taken the place of the named one. */
function releaseOfNamed(order: Placed): OrderFact | undefined {
  const { named, told } = order
  if (named?.wrong) return release(order, 'INVALID_CHANNEL_OPENING', named.wrong.reason, named.wrong.blamed)
  return named && told.includes(WATCH_STOPPED) ? release(order, 'SELLER_FAILED_TO_SEND_SWAP', LOST, true) : undefined
}

/** @param tooLate for any channel: the payment goes back, unless one was noted before and may still be proven */
function refuseOffer(order: Placed, reason: string, tooLate = false): readonly OrderFact[] {
  if (!order.offered) return []
  const { attempt, outpoint } = order.offered
  const refused = fact('OutpointRefused', { attempt, outpoint, reason })
  if (order.closing) return [refused]
  const ofNamed = releaseOfNamed(order)
  if (ofNamed) return [refused, ofNamed]
  const why = tooLate && !order.named ? TOO_SOON : nothingLeft(order)
  return why === undefined ? [refused] : [refused, release(order, 'SELLER_FAILED_TO_OPEN_CHANNEL', why)]
}
