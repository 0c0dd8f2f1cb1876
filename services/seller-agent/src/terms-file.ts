import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { SellerTerms } from './terms.ts'

const sat = z
  .string()
  .regex(/^\d{1,16}$/, 'an amount is a string of digits, in satoshis')
  .transform(BigInt)
const ppm = z.int().min(0).max(1_000_000)

const file = z
  .strictObject({
    total_size_sat: sat,
    min_size_sat: sat,
    max_size_sat: sat,
    min_block_length: z.int().min(1),
    base_fee_sat: sat,
    fee_rate_ppm: ppm,
    base_fee_cap_sat: sat,
    fee_rate_cap_ppm: ppm,
    onchain_multiplier: z.int().min(1).max(5).optional(),
    auto_accept: z.boolean(),
  })
  .transform(({ onchain_multiplier: onchainMultiplier, ...said }): SellerTerms => ({
    totalSizeSat: said.total_size_sat,
    minSizeSat: said.min_size_sat,
    maxSizeSat: said.max_size_sat,
    minBlockLength: said.min_block_length,
    baseFeeSat: said.base_fee_sat,
    feeRatePpm: said.fee_rate_ppm,
    baseFeeCapSat: said.base_fee_cap_sat,
    feeRateCapPpm: said.fee_rate_cap_ppm,
    ...(onchainMultiplier !== undefined && { onchainMultiplier }),
    autoAccept: said.auto_accept,
  }))

/** A seller's terms from a JSON file. @throws Error that names every fault of it */
export function readTerms(path: string): SellerTerms {
  const parsed = file.safeParse(jsonOf(path))
  if (parsed.success) return parsed.data
  throw new Error(`${path} are no terms of a seller:\n${z.prettifyError(parsed.error)}`)
}

function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Error(`${path} cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
