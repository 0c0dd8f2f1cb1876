import type { OfferFact, OfferTerms } from '@penstock/contracts/matching.ts'
import { evolveFundedReservations, type FundedReservations } from '@penstock/market/funded-reservations.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { Event } from '@penstock/runtime/service.ts'

export type OfferStatus = 'ENABLED' | 'DISABLED' | 'ADMIN_DISABLED'

/** An offer with its reserved and sold capacity. Amounts are decimal strings, as the row stores them. */
export type OfferView = {
  readonly id: string
  readonly accountId: string
  readonly pubkey: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly status: OfferStatus
  readonly terms: OfferTerms
  readonly reservedSat: string
  /** Sold capacity. */
  readonly usedSat: string
  /** Absent until the first funding. */
  readonly funded?: FundedReservations
  /** Number of sold channels. */
  readonly filledOrders: number
}

/** @returns the view after one fact of the offer's stream; the first fact is always OfferCreated */
export function evolveOfferView(view: OfferView | undefined, { aggregateId, at, fact }: Event<OfferFact>): OfferView {
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
      filledOrders: 0,
    }
  }
  assert(view, `the stream of offer ${aggregateId} begins with ${fact.type}`)
  const next = { ...view, updatedAt: at, funded: evolveFundedReservations(view.funded ?? {}, fact, at) }
  switch (fact.type) {
    case 'OfferUpdated':
      return { ...next, terms: fact.data }
    case 'OfferEnabled':
    case 'OfferEnabledByAdmin':
      return { ...next, status: 'ENABLED' }
    case 'OfferDisabled':
      return { ...next, status: 'DISABLED' }
    case 'OfferDisabledByAdmin':
      return { ...next, status: 'ADMIN_DISABLED' }
    case 'CapacityReserved':
      return { ...next, reservedSat: addSat(view.reservedSat, BigInt(fact.data.sizeSat)) }
    case 'ReservationReleased':
      return { ...next, reservedSat: addSat(view.reservedSat, -BigInt(fact.data.sizeSat)) }
    case 'ReservationUsed': {
      const sizeSat = BigInt(fact.data.sizeSat)
      const [reservedSat, usedSat] = [addSat(view.reservedSat, -sizeSat), addSat(view.usedSat, sizeSat)]
      return { ...next, reservedSat, usedSat, filledOrders: view.filledOrders + 1 }
    }
    case 'ReservationFundingRecorded':
      return next
    case 'ReservationRefused':
      return view
  }
}

/** Returns the available capacity in sat: the total minus sold and reserved capacity, but at least 0. */
export function computeAvailableSat(view: OfferView): bigint {
  const remaining = BigInt(view.terms.totalSizeSat) - computeLockedSat(view)
  return remaining > 0n ? remaining : 0n
}

/** Returns the sold and reserved capacity in sat. */
export const computeLockedSat = (view: OfferView): bigint => BigInt(view.reservedSat) + BigInt(view.usedSat)

const addSat = (sat: string, more: bigint): string => `${BigInt(sat) + more}`
