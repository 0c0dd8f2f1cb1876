import type { OfferFact, OfferTerms } from '@penstock/contracts/matching.ts'
import { must } from '@penstock/kernel/result.ts'
import type { Event } from '@penstock/runtime/service.ts'

export type OfferStatus = 'ENABLED' | 'DISABLED' | 'ADMIN_DISABLED'

/** An offer with what is reserved of it. Amounts are decimal strings, as the row keeps them. */
export type OfferView = {
  readonly id: string
  readonly accountId: string
  readonly pubkey: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly status: OfferStatus
  readonly terms: OfferTerms
  readonly reservedSat: string
  /** Sold for good. */
  readonly usedSat: string
}

/** @returns the view after one fact of the offer's stream; the first fact is always OfferCreated */
export function offerView(view: OfferView | undefined, { aggregateId, at, fact }: Event<OfferFact>): OfferView {
  if (fact.type === 'OfferCreated') {
    const { accountId, pubkey, ...terms } = fact.data
    return {
      id: aggregateId,
      accountId,
      pubkey,
      createdAt: at,
      updatedAt: at,
      status: 'ENABLED',
      terms,
      reservedSat: '0',
      usedSat: '0',
    }
  }
  must(view, `the stream of offer ${aggregateId} begins with ${fact.type}`)
  const here = { ...view, updatedAt: at }
  switch (fact.type) {
    case 'OfferUpdated':
      return { ...here, terms: fact.data }
    case 'OfferEnabled':
    case 'OfferEnabledByAdmin':
      return { ...here, status: 'ENABLED' }
    case 'OfferDisabled':
      return { ...here, status: 'DISABLED' }
    case 'OfferDisabledByAdmin':
      return { ...here, status: 'ADMIN_DISABLED' }
    case 'CapacityReserved':
      return { ...here, reservedSat: plus(view.reservedSat, BigInt(fact.data.sizeSat)) }
    case 'ReservationReleased':
      return { ...here, reservedSat: plus(view.reservedSat, -BigInt(fact.data.sizeSat)) }
    case 'ReservationUsed': {
      const sizeSat = BigInt(fact.data.sizeSat)
      return { ...here, reservedSat: plus(view.reservedSat, -sizeSat), usedSat: plus(view.usedSat, sizeSat) }
    }
    case 'ReservationRefused':
      return view
  }
}

/** What the offer still has, in sat: its total without what is sold and what is reserved; never below nothing. */
export function availableSat(view: OfferView): bigint {
  const left = BigInt(view.terms.totalSizeSat) - lockedSat(view)
  return left > 0n ? left : 0n
}

/** Sold or reserved, in sat. */
export const lockedSat = (view: OfferView): bigint => BigInt(view.reservedSat) + BigInt(view.usedSat)

const plus = (sat: string, more: bigint): string => `${BigInt(sat) + more}`
