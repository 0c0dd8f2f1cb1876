import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { SellerTerms } from './terms.ts'

const sat = z
  .string()
  .regex(/^\d{1,16}$/, 'an amount is a string of digits, in satoshis')
  .transform(BigInt)
const ppm = z.int().min(0).max(1_000_000)

/** A terms file; `SellerTerms` explains the fields. */
const termsSchema = z
  .strictObject({
    total_size_sat: sat,
    min_size_sat: sat,
    max_size_sat: sat,
    min_block_length: z.int().min(1),
    // The price of a channel.
    base_fee_sat: sat,
    fee_rate_ppm: ppm,
    // The highest routing fees of the sold channel.
    base_fee_cap_sat: sat,
    fee_rate_cap_ppm: ppm,
    // A factor of the estimated funding fee; the buyer pays the product.
    onchain_multiplier: z.int().min(1).max(5).optional(),
    auto_accept: z.boolean(),
  })
  .transform(({ onchain_multiplier: onchainMultiplier, ...values }): SellerTerms => ({
    totalSizeSat: values.total_size_sat,
    minSizeSat: values.min_size_sat,
    maxSizeSat: values.max_size_sat,
    minBlockLength: values.min_block_length,
    baseFeeSat: values.base_fee_sat,
    feeRatePpm: values.fee_rate_ppm,
    baseFeeCapSat: values.base_fee_cap_sat,
    feeRateCapPpm: values.fee_rate_cap_ppm,
    ...(onchainMultiplier !== undefined && { onchainMultiplier }),
    autoAccept: values.auto_accept,
  }))

/** Reads a seller's terms from a JSON file. @throws Error with every fault of the file */
export function readTerms(path: string): SellerTerms {
  const parsed = termsSchema.safeParse(readJson(path))
  if (parsed.success) return parsed.data
  throw new Error(`${path} does not contain valid terms of a seller:\n${z.prettifyError(parsed.error)}`)
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Error(`${path} cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
