import type { OfferCommand, OfferFact, OfferRefusal, OfferTerms } from '@penstock/contracts/matching.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { assert } from '@penstock/kernel/result.ts'
import { evolveOffer, reservationKeyOf, noOffer, type Offer, type OpenOffer } from './offer.ts'
import { checkOfferTerms } from './offer.terms.ts'

type OfferDecision = Decision<OfferFact, Refusal<OfferRefusal>>
type CommandOf<Type extends OfferCommand['type']> = Extract<OfferCommand, { readonly type: Type }>

function decide(offer: Offer, command: OfferCommand): OfferDecision {
  switch (command.type) {
    case 'CreateOffer':
      return createOffer(offer, command)
    case 'Reserve':
    case 'ReleaseReservation':
    case 'UseReservation':
    case 'RecordFunding':
      assert(offer.status !== 'NONE', 'capacity is requested only from offers that are in the book')
      if (command.type === 'Reserve') return reserve(offer, command)
      return command.type === 'RecordFunding' ? recordFunding(offer, command) : endReservation(offer, command)
    case 'UpdateOffer':
    case 'ToggleOffer':
    case 'DisableOffer':
    case 'EnableOffer':
      return offer.status === 'NONE' ? refuse('OFFER_NOT_FOUND', 'There is no such offer.') : changeOffer(offer, command)
  }
}

function createOffer(offer: Offer, { data }: CommandOf<'CreateOffer'>): OfferDecision {
  const { accountId, pubkey, ...terms } = data
  if (offer.status !== 'NONE') {
    const isSame = offer.accountId === accountId && offer.pubkey === pubkey && isEqual(offer.terms, terms)
    return isSame ? accept() : refuse('OFFER_EXISTS', 'There is an offer with this id already; make a new id.')
  }
  return checkOfferTerms(terms) ?? accept({ type: 'OfferCreated', v: 2, data })
}

function changeOffer(
  offer: OpenOffer,
  { type, data }: CommandOf<'UpdateOffer' | 'ToggleOffer' | 'DisableOffer' | 'EnableOffer'>,
): OfferDecision {
  switch (type) {
    case 'UpdateOffer':
      return data.by === offer.accountId ? updateOffer(offer, data) : otherSellerRefusal
    case 'ToggleOffer':
      if (data.by !== offer.accountId) return otherSellerRefusal
      if (offer.status === 'ADMIN_DISABLED')
        return refuse('OFFER_DISABLED_BY_OPERATOR', 'An operator has disabled this offer; ask for it to be enabled again.')
      return accept({ type: offer.status === 'ENABLED' ? 'OfferDisabled' : 'OfferEnabled', v: 1, data: {} })
    case 'DisableOffer':
      return offer.status === 'ADMIN_DISABLED' ? accept() : accept({ type: 'OfferDisabledByAdmin', v: 1, data })
    case 'EnableOffer':
      // An operator can enable only an offer that an operator disabled. An offer that its seller disabled stays disabled.
      return offer.status === 'ADMIN_DISABLED' ? accept({ type: 'OfferEnabledByAdmin', v: 1, data }) : accept()
  }
}

const otherSellerRefusal = refuse('OFFER_OF_ANOTHER', 'Only the seller who made this offer can change it.')

function updateOffer(offer: OpenOffer, { by: _, promises, ...changes }: CommandOf<'UpdateOffer'>['data']): OfferDecision {
  const terms = {
    ...offer.terms,
    ...omitUndefined(changes),
    promises: { ...offer.terms.promises, ...omitUndefined(promises ?? {}) },
  } as OfferTerms // undefined fields were omitted
  if (isEqual(terms, offer.terms)) return accept()
  const refusal = checkOfferTerms(terms)
  if (refusal) return refusal
  const lockedSat = offer.reservedSat + offer.usedSat
  if (BigInt(terms.totalSizeSat) < lockedSat)
    return refuse('total_size', `total_size must be at least ${lockedSat} sat, which are sold or reserved already.`)
  return accept({ type: 'OfferUpdated', v: 2, data: terms })
}

/** Records a refusal as a fact too, so that a repeated command does not succeed later. */
function reserve(offer: OpenOffer, { data }: CommandOf<'Reserve'>): OfferDecision {
  const { orderId, attempt, round, sizeSat, candidate } = data
  const key = reservationKeyOf(data)
  if (key in offer.open || offer.endedKeys.includes(key)) return accept()
  const reason = explainRefusal(offer, data)
  return reason === undefined
    ? accept({ type: 'CapacityReserved', v: 1, data: { orderId, attempt, round, sizeSat, candidate } })
    : accept({ type: 'ReservationRefused', v: 1, data: { orderId, attempt, round, reason } })
}

function explainRefusal(
  offer: OpenOffer,
  { sizeSat, isPrivate, autoAccepted, candidate }: CommandOf<'Reserve'>['data'],
): string | undefined {
  if (offer.status !== 'ENABLED') return 'The offer is no longer open.'
  if (autoAccepted && !offer.terms.autoAccept) return 'The offer no longer accepts orders automatically.'
  if (isPrivate && !candidate.rails) return 'Private channels are sold by the rails cluster only.'
  const availableSat = BigInt(offer.terms.totalSizeSat) - offer.reservedSat - offer.usedSat
  return BigInt(sizeSat) > availableSat ? `The offer has ${availableSat} sat left.` : undefined
}

function recordFunding(offer: OpenOffer, { data }: CommandOf<'RecordFunding'>): OfferDecision {
  const key = reservationKeyOf(data)
  const sizeSat = offer.open[key]
  if (sizeSat === undefined || offer.fundedKeys.includes(key) === data.seen) return accept()
  return accept({ type: 'ReservationFundingRecorded', v: 1, data: { ...data, sizeSat: `${sizeSat}` } })
}

function endReservation(offer: OpenOffer, { type, data }: CommandOf<'ReleaseReservation' | 'UseReservation'>): OfferDecision {
  const { orderId, attempt, round } = data
  const key = reservationKeyOf(data)
  const sizeSat = offer.open[key]
  if (sizeSat !== undefined)
    return type === 'UseReservation'
      ? accept({ type: 'ReservationUsed', v: 1, data: { orderId, attempt, round, sizeSat: `${sizeSat}` } })
      : accept({
          type: 'ReservationReleased',
          v: 1,
          data: { orderId, attempt, round, sizeSat: `${sizeSat}`, reason: data.reason },
        })
  if (type === 'UseReservation' || offer.endedKeys.includes(key)) return accept()
  // The release arrived before its reservation. The fact prevents a later grant of that reservation.
  return accept({ type: 'ReservationReleased', v: 1, data: { orderId, attempt, round, sizeSat: '0', reason: data.reason } })
}

/** @returns the fields that have a value */
const omitUndefined = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T> // a part of the fields

/** Compares terms, which are plain JSON with keys in any order. */
const isEqual = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )

export const offerDecider: Decider<Offer, OfferCommand, OfferFact, Refusal<OfferRefusal>> = {
  initial: noOffer,
  evolve: evolveOffer,
  decide,
}
