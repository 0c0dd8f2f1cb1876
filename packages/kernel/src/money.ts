/** Amounts are bigints of the smallest unit. In facts and on the wire they are decimal strings. */

export const MSAT_PER_SAT = 1000n
export const SAT_PER_BTC = 100_000_000n
const PPM = 1_000_000n

export const satToMsat = (sat: bigint): bigint => sat * MSAT_PER_SAT

/** Converts an amount to whole satoshis, rounded down. @returns sat */
export const msatToSatFloor = (msat: bigint): bigint => {
  assertNotNegative(msat)
  return msat / MSAT_PER_SAT
}

/** Converts an amount to whole satoshis, rounded up, so that they cover the amount. @returns sat */
export const msatToSatCeil = (msat: bigint): bigint => {
  assertNotNegative(msat)
  return (msat + MSAT_PER_SAT - 1n) / MSAT_PER_SAT
}

/** A share in parts per million of an amount, in the amount's own unit, rounded down. */
export const ppmOf = (amount: bigint, ratePpm: bigint): bigint => {
  assertNotNegative(amount)
  assertNotNegative(ratePpm)
  return (amount * ratePpm) / PPM
}

/**
 * Satoshis that an amount of dollar cents is worth, rounded down.
 * @param centsPerBtc price of one bitcoin in dollar cents
 */
export const centsToSat = (cents: bigint, centsPerBtc: bigint): bigint => {
  assertNotNegative(cents)
  if (centsPerBtc <= 0n) throw new RangeError('a price must be above zero')
  return (cents * SAT_PER_BTC) / centsPerBtc
}

/** Parses a string of decimal digits. @returns undefined for any other text (signs, fractions, exponents, spaces) */
export const parseAmount = (text: string, max: bigint = 2_100_000_000_000_000n): bigint | undefined => {
  if (!/^(0|[1-9]\d{0,17})$/.test(text)) return undefined
  const amount = BigInt(text)
  return amount <= max ? amount : undefined
}

function assertNotNegative(amount: bigint): void {
  if (amount < 0n) throw new RangeError('an amount must not be negative')
}
