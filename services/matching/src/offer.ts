import type { OfferFact, OfferTerms } from '@penstock/contracts/matching.ts'
import { Bug, assert } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { offerMachine } from './offer.machine.ts'

/** Identifies a reservation. `round` counts the requests for the capacity of one attempt, from 0; each round is reserved once. */
type ReservationKey = { readonly orderId: string; readonly attempt: number; readonly round: number }
export const reservationKeyOf = ({ orderId, attempt, round }: ReservationKey): string => `${orderId}/${attempt}/${round}`

type Reservations = {
  /** Sizes in sat of the reservations that are neither released nor used. */
  readonly open: Readonly<Record<string, bigint>>
  /**
   * Keys of the latest refused, released or used reservations, so that a late command does not reserve or release them again.
   * Older keys are not needed, because the runtime drops repeated commands.
   */
  readonly endedKeys: readonly string[]
  /** Keys of the open reservations whose funding was seen on the network. */
  readonly fundedKeys: readonly string[]
  readonly reservedSat: bigint
  readonly usedSat: bigint
}

export type OpenOffer = Reservations & {
  readonly status: 'ENABLED' | 'DISABLED' | 'ADMIN_DISABLED'
  readonly accountId: string
  readonly pubkey: string
  readonly terms: OfferTerms
}
export type Offer = { readonly status: 'NONE' } | OpenOffer

export const noOffer: Offer = { status: 'NONE' }
const MAX_ENDED_KEYS = 200

export const offerLifecycle = compileLifecycle<Offer['status'], OfferFact['type']>(offerMachine)

export function evolveOffer(offer: Offer, fact: OfferFact): Offer {
  const status = offerLifecycle.after(offer.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${offer.status}`)
  if (fact.type === 'OfferCreated') {
    const { accountId, pubkey, ...terms } = fact.data
    return { status: 'ENABLED', accountId, pubkey, terms, open: {}, endedKeys: [], fundedKeys: [], reservedSat: 0n, usedSat: 0n }
  }
  assert(offer.status !== 'NONE' && status !== 'NONE', 'an offer begins once, by OfferCreated')
  return { ...offer, status, ...(fact.type === 'OfferUpdated' ? { terms: fact.data } : evolveReservations(offer, fact)) }
}

function evolveReservations(offer: Reservations, fact: OfferFact): Partial<Reservations> {
  switch (fact.type) {
    case 'CapacityReserved': {
      const sizeSat = BigInt(fact.data.sizeSat)
      return { open: { ...offer.open, [reservationKeyOf(fact.data)]: sizeSat }, reservedSat: offer.reservedSat + sizeSat }
    }
    case 'ReservationFundingRecorded': {
      const key = reservationKeyOf(fact.data)
      const others = offer.fundedKeys.filter((one) => one !== key)
      return { fundedKeys: fact.data.seen ? [...others, key] : others }
    }
    case 'ReservationRefused':
    case 'ReservationReleased':
    case 'ReservationUsed': {
      const key = reservationKeyOf(fact.data)
      const { [key]: sizeSat = 0n, ...open } = offer.open
      return {
        open,
        endedKeys: [...offer.endedKeys, key].slice(-MAX_ENDED_KEYS),
        fundedKeys: offer.fundedKeys.filter((one) => one !== key),
        reservedSat: offer.reservedSat - sizeSat,
        usedSat: offer.usedSat + (fact.type === 'ReservationUsed' ? sizeSat : 0n),
      }
    }
    default:
      return {}
  }
}
