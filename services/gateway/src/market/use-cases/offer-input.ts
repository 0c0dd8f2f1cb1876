import type { MessageData } from '@penstock/contracts/define.ts'
import type { offerContract, OfferTerms } from '@penstock/contracts/matching.ts'
import { invalidInput } from '../../errors.ts'
import type { CreateOfferInput, UpdateOfferInput } from '../../generated/schema-types.ts'
import { parseAmountField, parseCountField, parseTextField } from '../../input.ts'

type Condition = OfferTerms['conditions'][number]

const ALL_BITCOIN_SAT = 2_100_000_000_000_000n
const MAX_RATE_PPM = 1_000_000
// Two years of blocks; the matching service has the same limit.
const MAX_BLOCKS = 105_120

/** Parsers for the single fields of an offer. The matching service checks the fields together. */
const fieldParsers = {
  total_size: (text: string) => `${parseAmountField(text, 'total_size', { min: 1n, max: ALL_BITCOIN_SAT })}`,
  min_size: (text: string) => `${parseAmountField(text, 'min_size', { min: 1n, max: ALL_BITCOIN_SAT })}`,
  max_size: (text: string) => `${parseAmountField(text, 'max_size', { min: 1n, max: ALL_BITCOIN_SAT })}`,
  min_block_length: (text: string) => parseCountField(text, 'min_block_length', 1, MAX_BLOCKS),
  fee_rate: (text: string) => parseCountField(text, 'fee_rate', 0, MAX_RATE_PPM),
  base_fee: (text: string) => `${parseAmountField(text, 'base_fee', { max: ALL_BITCOIN_SAT })}`,
  fee_rate_cap: (text: string) => parseCountField(text, 'fee_rate_cap', 0, MAX_RATE_PPM),
  base_fee_cap: (text: string) => `${parseAmountField(text, 'base_fee_cap', { max: ALL_BITCOIN_SAT })}`,
  onchain_multiplier: (value: number) => {
    if (value !== 0 && !(value >= 1 && value <= 5))
      throw invalidInput('onchain_multiplier must be from 1 to 5, or 0 where the seller bears the fee')
    return value
  },
  asset_id: (text: string) => (text === '' ? null : parseTextField(text, 'asset_id', 1, 128)),
  conditions: (list: readonly Condition[]) => {
    if (list.length > 16) throw invalidInput('conditions must be at most 16')
    return list.map(({ condition, operator, value }) => ({
      condition,
      operator,
      value: parseTextField(value, 'conditions.value', 1, 64),
    }))
  },
}

/** With the default multiplier 0, the seller bears the funding fee. */
export const parseOfferTerms = (input: CreateOfferInput): OfferTerms => ({
  totalSizeSat: fieldParsers.total_size(input.total_size),
  minSizeSat: fieldParsers.min_size(input.min_size),
  maxSizeSat: fieldParsers.max_size(input.max_size),
  promises: {
    baseFeeSat: fieldParsers.base_fee(input.base_fee),
    feeRatePpm: fieldParsers.fee_rate(input.fee_rate),
    baseFeeCapSat: fieldParsers.base_fee_cap(input.base_fee_cap),
    feeRateCapPpm: fieldParsers.fee_rate_cap(input.fee_rate_cap),
    minBlockLength: fieldParsers.min_block_length(input.min_block_length),
    onchainPriority: input.onchain_priority ?? 'MEDIUM',
    onchainMultiplier: parseOptional(input.onchain_multiplier, fieldParsers.onchain_multiplier) ?? 0,
  },
  conditions: fieldParsers.conditions(input.conditions ?? []),
  assetId: parseOptional(input.asset_id, fieldParsers.asset_id) ?? null,
  autoAccept: input.auto_accept ?? false,
})

type OfferChanges = Omit<MessageData<(typeof offerContract)['commands']['UpdateOffer']>, 'by'>

/** Parses the given fields only. A null or missing field leaves the value of the offer unchanged. */
export function parseOfferChanges(input: Omit<UpdateOfferInput, 'offer_id'>): OfferChanges {
  const promises = omitUndefined({
    baseFeeSat: parseOptional(input.base_fee, fieldParsers.base_fee),
    feeRatePpm: parseOptional(input.fee_rate, fieldParsers.fee_rate),
    baseFeeCapSat: parseOptional(input.base_fee_cap, fieldParsers.base_fee_cap),
    feeRateCapPpm: parseOptional(input.fee_rate_cap, fieldParsers.fee_rate_cap),
    minBlockLength: parseOptional(input.min_block_length, fieldParsers.min_block_length),
    onchainPriority: input.onchain_priority ?? undefined,
    onchainMultiplier: parseOptional(input.onchain_multiplier, fieldParsers.onchain_multiplier),
  })
  return omitUndefined({
    totalSizeSat: parseOptional(input.total_size, fieldParsers.total_size),
    minSizeSat: parseOptional(input.min_size, fieldParsers.min_size),
    maxSizeSat: parseOptional(input.max_size, fieldParsers.max_size),
    promises: Object.keys(promises).length > 0 ? promises : undefined,
    conditions: parseOptional(input.conditions, fieldParsers.conditions),
    assetId: parseOptional(input.asset_id, fieldParsers.asset_id),
    autoAccept: input.auto_accept ?? undefined,
  })
}

const parseOptional = <T, U>(value: T | null | undefined, reader: (value: T) => U): U | undefined =>
  value === null || value === undefined ? undefined : reader(value)

type DefinedFields<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
const omitUndefined = <T extends object>(fields: T): DefinedFields<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<T> // the filter drops undefined
