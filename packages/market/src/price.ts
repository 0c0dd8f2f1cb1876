import type { FundingFeesData, Promises } from '@penstock/contracts/shapes.ts'
import { msatToSatCeil, msatToSatFloor, ppmOf, satToMsat } from '@penstock/kernel/money.ts'

export type Priority = Promises['onchainPriority']

/** The current cost of a funding transaction in sat, by priority. */
export type FundingFeesByPriority = Readonly<Record<Priority, bigint>>

/** The confirmation target of a funding transaction in blocks, by priority. */
const FEE_TARGET_BLOCKS: Readonly<Record<Priority, number>> = { LOW: 24, MEDIUM: 6, HIGH: 2 }

/** One P2WPKH input, the P2WSH funding output and P2WPKH change. */
const FUNDING_VBYTES = 154

/** @param feeRate returns satoshis per virtual byte for a confirmation target; its errors are not caught */
export async function estimateFundingFees(feeRate: (targetBlocks: number) => Promise<number>): Promise<FundingFeesByPriority> {
  const feeSat = async (priority: Priority) => BigInt(Math.ceil(FUNDING_VBYTES * (await feeRate(FEE_TARGET_BLOCKS[priority]))))
  const [LOW, MEDIUM, HIGH] = await Promise.all([feeSat('LOW'), feeSat('MEDIUM'), feeSat('HIGH')])
  return { LOW, MEDIUM, HIGH }
}

/** The operator's settings for the whole market, under the same names as in the configuration. */
export type MarketSettings = {
  readonly platformFeePpm: number
  readonly platformFeeMinSat: bigint
  readonly newSellerCapSat: bigint
  readonly railsScore: number
}

/** Converts fees to the form in facts. */
export const serialiseFees = (fees: FundingFeesByPriority | null): FundingFeesData =>
  fees && { LOW: `${fees.LOW}`, MEDIUM: `${fees.MEDIUM}`, HIGH: `${fees.HIGH}` }

export const parseFees = (fees: FundingFeesData): FundingFeesByPriority | null =>
  fees && { LOW: BigInt(fees.LOW), MEDIUM: BigInt(fees.MEDIUM), HIGH: BigInt(fees.HIGH) }

/** Offers charge multiples of the fee with two decimals. */
const HUNDREDTHS = 100

/**
 * Rounds down to whole satoshis: sellers see satoshis, and every wallet can make an invoice for whole satoshis.
 * @returns the seller's amount in msat; undefined if the offer charges for the funding and the funding fee is unknown
 */
function computeSellerAmountMsat(promises: Promises, sizeSat: bigint, fees: FundingFeesByPriority | null): bigint | undefined {
  const agreed = satToMsat(BigInt(promises.baseFeeSat)) + ppmOf(satToMsat(sizeSat), BigInt(promises.feeRatePpm))
  if (promises.onchainMultiplier === 0) return floorToSat(agreed)
  if (!fees) return undefined
  const hundredths = BigInt(Math.round(promises.onchainMultiplier * HUNDREDTHS))
  return floorToSat(agreed + (satToMsat(fees[promises.onchainPriority]) * hundredths) / BigInt(HUNDREDTHS))
}

const floorToSat = (msat: bigint): bigint => satToMsat(msatToSatFloor(msat))

export function computePlatformFeeMsat(sizeSat: bigint, { platformFeePpm, platformFeeMinSat }: MarketSettings): bigint {
  const share = ppmOf(satToMsat(sizeSat), BigInt(platformFeePpm))
  const least = satToMsat(platformFeeMinSat)
  return share > least ? share : least
}

/** A price and its parts: the amounts of seller, platform and rounding add up to the price, to the msat. */
export type Cost = {
  readonly priceSat: bigint
  readonly sellerAmountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly roundingMsat: bigint
}

/** The price of a size, rounded up to a whole satoshi. @returns undefined if the offer charges an unknown funding fee */
export function computeCost(
  promises: Promises,
  sizeSat: bigint,
  fees: FundingFeesByPriority | null,
  settings: MarketSettings,
): Cost | undefined {
  const seller = computeSellerAmountMsat(promises, sizeSat, fees)
  if (seller === undefined) return undefined
  const platform = computePlatformFeeMsat(sizeSat, settings)
  const priceSat = msatToSatCeil(seller + platform)
  return { priceSat, sellerAmountMsat: seller, platformFeeMsat: platform, roundingMsat: satToMsat(priceSat) - seller - platform }
}

/**
 * Finds the largest size up to `most` whose cost is within the budget. The cost must not fall as the size grows.
 * A search is needed: with the rounding and the minimum of the platform fee, no formula is exact to the msat.
 * @returns undefined if even size 0 exceeds the budget
 */
export function findLargestWithin(budgetMsat: bigint, most: bigint, costMsat: (sizeSat: bigint) => bigint): bigint | undefined {
  if (most < 0n || costMsat(0n) > budgetMsat) return undefined
  let low = 0n
  let high = most
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    if (costMsat(middle) <= budgetMsat) low = middle
    else high = middle - 1n
  }
  return low
}
