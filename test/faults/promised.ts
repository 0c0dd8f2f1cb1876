import type { Book } from './books.ts'

/** What a seller has to get, to the msat; `most` is undefined where an earlier release did not record what a funding cost. */
export type Promised = { readonly leastMsat: bigint; readonly mostMsat: bigint | undefined }

/**
 * Recomputed from what the seller had promised when it got the order: base fee, fee rate on the capacity, and its multiple
 * of what a funding cost then, in whole satoshis. Nothing of it is the market's own figure or code.
 * @returns undefined where nobody had the attempt
 */
export function promisedOf({ sellers, shown, shownFees, searchFees, sizeSat }: Book, attempt: number): Promised | undefined {
  const seller = sellers.get(attempt)
  if (!seller) return undefined
  const { baseFeeSat, feeRatePpm, onchainMultiplier, onchainPriority } = seller.promises
  const payMsat = (fundingSat: bigint): bigint => {
    const partsOfSat = sizeSat * BigInt(feeRatePpm) + fundingSat * BigInt(Math.round(onchainMultiplier * MILLION))
    return 1000n * (BigInt(baseFeeSat) + partsOfSat / BigInt(MILLION))
  }
  const leastMsat = payMsat(0n)
  if (onchainMultiplier === 0) return { leastMsat, mostMsat: leastMsat }
  // The seller that the buyer was shown serves at the price of then.
  const fees = seller.offerId === shown?.offerId ? shownFees : searchFees.get(attempt)
  if (!fees) return { leastMsat, mostMsat: undefined }
  const exactMsat = payMsat(BigInt(fees[onchainPriority]))
  return { leastMsat: exactMsat, mostMsat: exactMsat }
}

const MILLION = 1_000_000
