import type { OfferFact, OfferTerms } from '@penstock/contracts/matching.ts'
import { Bug, must } from '@penstock/kernel/result.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { offerMachine } from './offer.machine.ts'

/** Capacity is reserved by order, attempt and round; a round is reserved once. */
type ReservationKey = { readonly orderId: string; readonly attempt: number; readonly round: number }
export const keyOf = ({ orderId, attempt, round }: ReservationKey): string => `${orderId}/${attempt}/${round}`

type Reservations = {
  /** Sizes in sat of what is reserved and neither released nor used. */
  readonly open: Readonly<Record<string, bigint>>
  /** Keys of what is over: refused, released or used. The last ones only, since the runtime drops repeated commands by itself. */
  readonly over: readonly string[]
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
const REMEMBERED = 200

export const offerLifecycle = compile<Offer['status'], OfferFact['type']>(offerMachine)

export function evolveOffer(offer: Offer, fact: OfferFact): Offer {
  const status = offerLifecycle.after(offer.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${offer.status}`)
  if (fact.type === 'OfferCreated') {
    const { accountId, pubkey, ...terms } = fact.data
    return { status: 'ENABLED', accountId, pubkey, terms, open: {}, over: [], reservedSat: 0n, usedSat: 0n }
  }
  must(offer.status !== 'NONE' && status !== 'NONE', 'an offer begins once, by OfferCreated')
  return { ...offer, status, ...(fact.type === 'OfferUpdated' ? { terms: fact.data } : reservationsAfter(offer, fact)) }
}

function reservationsAfter(offer: Reservations, fact: OfferFact): Partial<Reservations> {
  switch (fact.type) {
    case 'CapacityReserved': {
      const sizeSat = BigInt(fact.data.sizeSat)
      return { open: { ...offer.open, [keyOf(fact.data)]: sizeSat }, reservedSat: offer.reservedSat + sizeSat }
    }
    case 'ReservationRefused':
    case 'ReservationReleased':
    case 'ReservationUsed': {
      const key = keyOf(fact.data)
      const { [key]: sizeSat = 0n, ...open } = offer.open
      return {
        open,
        over: [...offer.over, key].slice(-REMEMBERED),
        reservedSat: offer.reservedSat - sizeSat,
        usedSat: offer.usedSat + (fact.type === 'ReservationUsed' ? sizeSat : 0n),
      }
    }
    default:
      return {}
  }
}
