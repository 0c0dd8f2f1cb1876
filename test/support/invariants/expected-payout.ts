import type { OrderModel } from './order-model.ts'

/** The payout that a seller must get, in msat. `maxMsat` is undefined if an earlier release did not record the funding cost. */
export type ExpectedPayout = { readonly minMsat: bigint; readonly maxMsat: bigint | undefined }

/**
 * Computes the payout from the terms that the seller promised for the attempt: a base fee, a fee rate on the capacity, and a
 * multiple of the funding cost. The payout is rounded down to whole satoshis. It does not use code of the market, so that it can
 * check the market.
 * @returns undefined if the attempt has no seller
 */
export function computeExpectedPayout(
  { sellers, quotedCandidate, quotedFees, searchFees, sizeSat }: OrderModel,
  attempt: number,
): ExpectedPayout | undefined {
  const seller = sellers.get(attempt)
  if (!seller) return undefined
  const { baseFeeSat, feeRatePpm, onchainMultiplier, onchainPriority } = seller.promises
  const computePayMsat = (fundingSat: bigint): bigint => {
    const partsOfSat = sizeSat * BigInt(feeRatePpm) + fundingSat * BigInt(Math.round(onchainMultiplier * MILLION))
    return 1000n * (BigInt(baseFeeSat) + partsOfSat / BigInt(MILLION))
  }
  const minMsat = computePayMsat(0n)
  if (onchainMultiplier === 0) return { minMsat, maxMsat: minMsat }
  // The funding cost of the quoted seller is that of the quote. Other sellers have the cost at the search for the attempt.
  const fees = seller.offerId === quotedCandidate?.offerId ? quotedFees : searchFees.get(attempt)
  if (!fees) return { minMsat, maxMsat: undefined }
  const exactMsat = computePayMsat(BigInt(fees[onchainPriority]))
  return { minMsat: exactMsat, maxMsat: exactMsat }
}

const MILLION = 1_000_000
