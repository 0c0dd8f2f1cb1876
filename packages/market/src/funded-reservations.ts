import type { OfferFact } from '@penstock/contracts/matching.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'

/** An attestation carries the time of the seller's clock, which may differ from ours by this much. */
export const MAX_CLOCK_DIFFERENCE_MS = MINUTE_MS

/** Reserved sizes in sat whose funding transaction was seen on the network, by reservation. `seenAt`: milliseconds since 1970. */
export type FundedReservations = Readonly<Record<string, { readonly sizeSat: string; readonly seenAt: number }>>

/** @param at the time of the fact. A reservation whose funding is missing or replaced is no longer funded. */
export function evolveFundedReservations(funded: FundedReservations, { type, data }: OfferFact, at: number): FundedReservations {
  if (type !== 'ReservationFundingRecorded' && type !== 'ReservationReleased' && type !== 'ReservationUsed') return funded
  const key = `${data.orderId}/${data.attempt}/${data.round}`
  const { [key]: _, ...others } = funded
  return type === 'ReservationFundingRecorded' && data.seen ? { ...others, [key]: { sizeSat: data.sizeSat, seenAt: at } } : others
}

/**
 * The reserved sat that funds attested at `attestedAt` no longer contain, because a funding has spent them. An attestation that may
 * be older than its funding still contains the coins, so this reservation goes on counting against the funds.
 */
export const sumFundedSat = (funded: FundedReservations, attestedAt: number): bigint =>
  Object.values(funded)
    .filter(({ seenAt }) => attestedAt > seenAt + MAX_CLOCK_DIFFERENCE_MS)
    .reduce((sum, { sizeSat }) => sum + BigInt(sizeSat), 0n)
