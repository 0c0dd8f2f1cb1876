import type { Book } from './books.ts'

/** What a seller has to get, to the msat; `most` is undefined where nothing that was recorded says it. */
export type Promised = { readonly leastMsat: bigint; readonly mostMsat: bigint | undefined }

/**
 * Recomputed from what the seller had promised when it got the order: base fee, fee rate on the capacity, and its multiple
 * of what a funding cost then, in whole satoshis. Nothing of it is the market's own figure or code.
 * @returns undefined where nobody had the attempt
 */
export function promisedOf({ sellers, shown, fundingFees, sizeSat }: Book, attempt: number): Promised | undefined {
  const seller = sellers.get(attempt)
  if (!seller) return undefined
  const { baseFeeSat, feeRatePpm, onchainMultiplier, onchainPriority } = seller.promises
  const payMsat = (fundingSat: bigint): bigint => {
    const partsOfSat = sizeSat * BigInt(feeRatePpm) + fundingSat * BigInt(Math.round(onchainMultiplier * MILLION))
    return 1000n * (BigInt(baseFeeSat) + partsOfSat / BigInt(MILLION))
  }
  const leastMsat = payMsat(0n)
  if (onchainMultiplier === 0) return { leastMsat, mostMsat: leastMsat }
  // What a funding cost when a successor was searched for is written down nowhere.
  if (seller.offerId !== shown?.offerId || fundingFees === null) return { leastMsat, mostMsat: undefined }
  const exactMsat = payMsat(BigInt(fundingFees[onchainPriority]))
  return { leastMsat: exactMsat, mostMsat: exactMsat }
}

const MILLION = 1_000_000
