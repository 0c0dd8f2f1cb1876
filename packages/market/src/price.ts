import type { FundingFeesData, Promises } from '@penstock/contracts/shapes.ts'
import { msatToSatCeil, msatToSatFloor, ppmOf, satToMsat } from '@penstock/kernel/money.ts'

export type Priority = Promises['onchainPriority']

/** What a funding transaction costs now, in sat. */
export type FundingFees = Readonly<Record<Priority, bigint>>

/** Blocks within which a funding of this priority is to confirm. */
const feeTargetBlocks: Readonly<Record<Priority, number>> = { LOW: 24, MEDIUM: 6, HIGH: 2 }

/** One P2WPKH input, the P2WSH funding output and P2WPKH change. */
const FUNDING_VBYTES = 154

/** @param feeRate satoshis per virtual byte for confirmation within so many blocks; what it throws is thrown */
export async function fundingFees(feeRate: (targetBlocks: number) => Promise<number>): Promise<FundingFees> {
  const feeSat = async (priority: Priority) => BigInt(Math.ceil(FUNDING_VBYTES * (await feeRate(feeTargetBlocks[priority]))))
  const [LOW, MEDIUM, HIGH] = await Promise.all([feeSat('LOW'), feeSat('MEDIUM'), feeSat('HIGH')])
  return { LOW, MEDIUM, HIGH }
}

/** What the operator sets for the whole market; the configuration has these names. */
export type MarketSettings = {
  readonly platformFeePpm: number
  readonly platformFeeMinSat: bigint
  readonly newSellerCapSat: bigint
  readonly railsScore: number
}

/** As facts keep them. */
export const recordFees = (fees: FundingFees | null): FundingFeesData =>
  fees && { LOW: `${fees.LOW}`, MEDIUM: `${fees.MEDIUM}`, HIGH: `${fees.HIGH}` }

export const readFees = (fees: FundingFeesData): FundingFees | null =>
  fees && { LOW: BigInt(fees.LOW), MEDIUM: BigInt(fees.MEDIUM), HIGH: BigInt(fees.HIGH) }

/** Offers charge multiples of the fee with two decimals. */
const HUNDREDTHS = 100

/**
 * Whole satoshis, since that is what a seller is shown and what any wallet can write an invoice for.
 * @returns what the seller gets in msat; undefined where the offer charges for the funding and its fee is not known
 */
function sellerAmountMsat(promises: Promises, sizeSat: bigint, fees: FundingFees | null): bigint | undefined {
  const agreed = satToMsat(BigInt(promises.baseFeeSat)) + ppmOf(satToMsat(sizeSat), BigInt(promises.feeRatePpm))
  if (promises.onchainMultiplier === 0) return wholeSat(agreed)
  if (!fees) return undefined
  const hundredths = BigInt(Math.round(promises.onchainMultiplier * HUNDREDTHS))
  return wholeSat(agreed + (satToMsat(fees[promises.onchainPriority]) * hundredths) / BigInt(HUNDREDTHS))
}

const wholeSat = (msat: bigint): bigint => satToMsat(msatToSatFloor(msat))

export function platformFeeMsat(sizeSat: bigint, { platformFeePpm, platformFeeMinSat }: MarketSettings): bigint {
  const share = ppmOf(satToMsat(sizeSat), BigInt(platformFeePpm))
  const least = satToMsat(platformFeeMinSat)
  return share > least ? share : least
}

/** A price and who gets what of it: seller, platform and rounding add up to it, to the msat. */
export type Cost = {
  readonly priceSat: bigint
  readonly sellerAmountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly roundingMsat: bigint
}

/** What a size costs, rounded up to a whole satoshi. */
export function costOf(
  promises: Promises,
  sizeSat: bigint,
  fees: FundingFees | null,
  settings: MarketSettings,
): Cost | undefined {
  const seller = sellerAmountMsat(promises, sizeSat, fees)
  if (seller === undefined) return undefined
  const platform = platformFeeMsat(sizeSat, settings)
  const priceSat = msatToSatCeil(seller + platform)
  return { priceSat, sellerAmountMsat: seller, platformFeeMsat: platform, roundingMsat: satToMsat(priceSat) - seller - platform }
}

/**
 * The largest whole number up to `most` whose cost is within the budget. The cost must not fall as the size grows.
 * Searched, not calculated: the minimum of the platform fee and the roundings make no formula that is exact to the msat.
 * @returns undefined where not even 0 is affordable
 */
export function largestWithin(budgetMsat: bigint, most: bigint, costMsat: (sizeSat: bigint) => bigint): bigint | undefined {
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
