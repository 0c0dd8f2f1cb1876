import type { OfferCommand, OfferFact, OfferRefusal, OfferTerms } from '@penstock/contracts/matching.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { must } from '@penstock/kernel/result.ts'
import { evolveOffer, keyOf, noOffer, type Offer, type OpenOffer } from './offer.ts'
import { wrongTerms } from './offer.terms.ts'

type Decided = Decision<OfferFact, Refusal<OfferRefusal>>
type CommandOf<Type extends OfferCommand['type']> = Extract<OfferCommand, { readonly type: Type }>

function decide(offer: Offer, command: OfferCommand): Decided {
  switch (command.type) {
    case 'CreateOffer':
      return create(offer, command)
    case 'Reserve':
    case 'ReleaseReservation':
    case 'UseReservation':
      must(offer.status !== 'NONE', 'capacity is asked of offers that the book has seen')
      return command.type === 'Reserve' ? reserve(offer, command) : end(offer, command)
    case 'UpdateOffer':
    case 'ToggleOffer':
    case 'DisableOffer':
    case 'EnableOffer':
      return offer.status === 'NONE' ? refuse('OFFER_NOT_FOUND', 'There is no such offer.') : change(offer, command)
  }
}

function create(offer: Offer, { data }: CommandOf<'CreateOffer'>): Decided {
  const { accountId, pubkey, ...terms } = data
  if (offer.status !== 'NONE') {
    const same = offer.accountId === accountId && offer.pubkey === pubkey && equal(offer.terms, terms)
    return same ? accept() : refuse('OFFER_EXISTS', 'There is an offer with this id already; make a new id.')
  }
  return wrongTerms(terms) ?? accept({ type: 'OfferCreated', v: 1, data })
}

function change(
  offer: OpenOffer,
  { type, data }: CommandOf<'UpdateOffer' | 'ToggleOffer' | 'DisableOffer' | 'EnableOffer'>,
): Decided {
  switch (type) {
    case 'UpdateOffer':
      return data.by === offer.accountId ? update(offer, data) : notYours
    case 'ToggleOffer':
      if (data.by !== offer.accountId) return notYours
      if (offer.status === 'ADMIN_DISABLED')
        return refuse('OFFER_DISABLED_BY_OPERATOR', 'An operator has disabled this offer; ask for it to be enabled again.')
      return accept({ type: offer.status === 'ENABLED' ? 'OfferDisabled' : 'OfferEnabled', v: 1, data: {} })
    case 'DisableOffer':
      return offer.status === 'ADMIN_DISABLED' ? accept() : accept({ type: 'OfferDisabledByAdmin', v: 1, data })
    case 'EnableOffer':
      // An operator takes back what an operator did; a seller's own toggle stays the seller's.
      return offer.status === 'ADMIN_DISABLED' ? accept({ type: 'OfferEnabledByAdmin', v: 1, data }) : accept()
  }
}

const notYours = refuse('OFFER_OF_ANOTHER', 'Only the seller who made this offer can change it.')

function update(offer: OpenOffer, { by: _, promises, ...wanted }: CommandOf<'UpdateOffer'>['data']): Decided {
  const terms = {
    ...offer.terms,
    ...given(wanted),
    promises: { ...offer.terms.promises, ...given(promises ?? {}) },
  } as OfferTerms // what is undefined was left out
  if (equal(terms, offer.terms)) return accept()
  const wrong = wrongTerms(terms)
  if (wrong) return wrong
  const lockedSat = offer.reservedSat + offer.usedSat
  if (BigInt(terms.totalSizeSat) < lockedSat)
    return refuse('total_size', `total_size must be at least ${lockedSat} sat, which are sold or reserved already.`)
  return accept({ type: 'OfferUpdated', v: 1, data: terms })
}

/** A search's question is answered by a fact, so that a repetition never succeeds tomorrow. */
function reserve(offer: OpenOffer, { data }: CommandOf<'Reserve'>): Decided {
  const { orderId, attempt, round, sizeSat, candidate } = data
  const key = keyOf(data)
  if (key in offer.open || offer.over.includes(key)) return accept()
  const reason = whyNotReserve(offer, data)
  return reason === undefined
    ? accept({ type: 'CapacityReserved', v: 1, data: { orderId, attempt, round, sizeSat, candidate } })
    : accept({ type: 'ReservationRefused', v: 1, data: { orderId, attempt, round, reason } })
}

function whyNotReserve(
  offer: OpenOffer,
  { sizeSat, isPrivate, standing, candidate }: CommandOf<'Reserve'>['data'],
): string | undefined {
  if (offer.status !== 'ENABLED') return 'The offer is not open any more.'
  if (standing && !offer.terms.autoAccept) return 'The offer no longer accepts orders by itself.'
  if (isPrivate && !candidate.rails) return 'Private channels are sold by the rails cluster only.'
  const availableSat = BigInt(offer.terms.totalSizeSat) - offer.reservedSat - offer.usedSat
  return BigInt(sizeSat) > availableSat ? `The offer has ${availableSat} sat left.` : undefined
}

function end(offer: OpenOffer, { type, data }: CommandOf<'ReleaseReservation' | 'UseReservation'>): Decided {
  const { orderId, attempt, round } = data
  const key = keyOf(data)
  const sizeSat = offer.open[key]
  if (sizeSat !== undefined)
    return type === 'UseReservation'
      ? accept({ type: 'ReservationUsed', v: 1, data: { orderId, attempt, round, sizeSat: `${sizeSat}` } })
      : accept({
          type: 'ReservationReleased',
          v: 1,
          data: { orderId, attempt, round, sizeSat: `${sizeSat}`, reason: data.reason },
        })
  if (type === 'UseReservation' || offer.over.includes(key)) return accept()
  // The release overtook its reservation: kept, so that what nobody waits for is never granted.
  return accept({ type: 'ReservationReleased', v: 1, data: { orderId, attempt, round, sizeSat: '0', reason: data.reason } })
}

/** Without the keys that were left out. */
const given = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T> // a part of the fields

/** Terms are plain JSON whose keys may come in any order. */
const equal = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )

export const offer: Decider<Offer, OfferCommand, OfferFact, Refusal<OfferRefusal>> = {
  initial: noOffer,
  evolve: evolveOffer,
  decide,
}
