import type { OfferFact } from '@penstock/contracts/matching.ts'

/** Reserved sizes in sat whose funding transaction was seen on the network, by reservation. */
export type FundedReservations = Readonly<Record<string, string>>

/**
 * Such a funding has spent the seller's coins, so its attested funds no longer contain them. The reservation then counts against
 * the total of the offer only. It counts against the funds again if the transaction is missing.
 */
export function evolveFundedReservations(funded: FundedReservations, { type, data }: OfferFact): FundedReservations {
  if (type !== 'ReservationFundingRecorded' && type !== 'ReservationReleased' && type !== 'ReservationUsed') return funded
  const key = `${data.orderId}/${data.attempt}/${data.round}`
  const { [key]: _, ...others } = funded
  return type === 'ReservationFundingRecorded' && data.seen ? { ...others, [key]: data.sizeSat } : others
}

export const sumFundedSat = (funded: FundedReservations): bigint =>
  Object.values(funded).reduce((sum, sizeSat) => sum + BigInt(sizeSat), 0n)
