import type { OfferRefusal, OfferTerms } from '@penstock/contracts/matching.ts'
import { refuse } from '@penstock/kernel/decider.ts'
import type { Refusal } from '@penstock/kernel/decider.ts'
import { parseAmount } from '@penstock/kernel/money.ts'

/** The smallest ordinary channel: node implementations refuse smaller channels. */
const MIN_CHANNEL_SAT = 20_000n
/** Above this rate the price of a channel would exceed its capacity. */
const MAX_FEE_RATE_PPM = 500_000
const MAX_RATE_CAP_PPM = 1_000_000
const MAX_FEE_SAT = 100_000_000n
/** Two years in blocks. A node cannot promise a longer lifetime. */
const MAX_BLOCK_LENGTH = 105_120

/** @returns a refusal with the API name of the first wrong field; undefined for valid terms */
export function checkOfferTerms(terms: OfferTerms): { readonly refused: Refusal<OfferRefusal> } | undefined {
  const { promises } = terms
  const total = parseAmount(terms.totalSizeSat)
  const min = parseAmount(terms.minSizeSat)
  const max = parseAmount(terms.maxSizeSat)
  if (total === undefined || total < MIN_CHANNEL_SAT)
    return refuse('total_size', `total_size must be at least ${MIN_CHANNEL_SAT} sat.`)
  if (min === undefined || min < MIN_CHANNEL_SAT) return refuse('min_size', `min_size must be at least ${MIN_CHANNEL_SAT} sat.`)
  if (max === undefined || max < min) return refuse('max_size', `max_size must be at least min_size, which is ${min} sat.`)
  if (max > total) return refuse('max_size', `max_size must not be above total_size, which is ${total} sat.`)
  if (promises.minBlockLength < 1 || promises.minBlockLength > MAX_BLOCK_LENGTH)
    return refuse('min_block_length', `min_block_length must be between 1 and ${MAX_BLOCK_LENGTH} blocks.`)
  if (promises.feeRatePpm > MAX_FEE_RATE_PPM) return refuse('fee_rate', `fee_rate must not be above ${MAX_FEE_RATE_PPM} ppm.`)
  if (isOutOfRange(promises.baseFeeSat)) return refuse('base_fee', `base_fee must be between 0 and ${MAX_FEE_SAT} sat.`)
  if (promises.feeRateCapPpm > MAX_RATE_CAP_PPM)
    return refuse('fee_rate_cap', `fee_rate_cap must not be above ${MAX_RATE_CAP_PPM} ppm.`)
  if (isOutOfRange(promises.baseFeeCapSat))
    return refuse('base_fee_cap', `base_fee_cap must be between 0 and ${MAX_FEE_SAT} sat.`)
  if (promises.onchainMultiplier !== 0 && (promises.onchainMultiplier < 1 || promises.onchainMultiplier > 5))
    return refuse('onchain_multiplier', 'onchain_multiplier must be between 1 and 5, or 0 to charge nothing for the funding.')
  const condition = terms.conditions.find(
    ({ condition: about, value }) => about !== 'NODE_SOCKETS' && parseAmount(value) === undefined,
  )
  if (condition) return refuse('conditions', `conditions: the value of ${condition.condition} must be a whole number.`)
  if (terms.assetId !== null) return refuse('asset_id', 'asset_id must be left out: only bitcoin is sold here.')
  return undefined
}

const isOutOfRange = (sat: string): boolean => parseAmount(sat, MAX_FEE_SAT) === undefined
