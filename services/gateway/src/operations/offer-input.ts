import type { DataOf } from '@penstock/contracts/define.ts'
import type { offer, OfferTerms } from '@penstock/contracts/matching.ts'
import { invalid } from '../errors.ts'
import { amountOf, textOf, wholeOf } from '../input.ts'

type Condition = OfferTerms['conditions'][number]

export type OfferFields = {
  readonly total_size: string
  readonly min_size: string
  readonly max_size: string
  readonly min_block_length: number
  readonly fee_rate: number
  readonly base_fee: string
  readonly fee_rate_cap: number
  readonly base_fee_cap: string
  readonly onchain_priority: 'LOW' | 'MEDIUM' | 'HIGH'
  readonly onchain_multiplier: number
  readonly conditions: readonly Condition[]
  readonly asset_id: string
  readonly auto_accept: boolean
}
type Optional<T> = { readonly [K in keyof T]?: T[K] | null }
type Needed =
  | 'total_size'
  | 'min_size'
  | 'max_size'
  | 'min_block_length'
  | 'fee_rate'
  | 'base_fee'
  | 'fee_rate_cap'
  | 'base_fee_cap'

export type OfferInput = { readonly pubkey: string } & Pick<OfferFields, Needed> & Optional<Omit<OfferFields, Needed>>
export type UpdateOfferInput = { readonly offer_id: string } & Optional<OfferFields>

const ALL_BITCOIN_SAT = 2_100_000_000_000_000n
const MAX_RATE_PPM = 1_000_000
// Two years, as the owner of offers has it.
const MAX_BLOCKS = 105_120

/** What the fields of an offer become, each judged by itself; the owner of the offer judges them together. */
const readers = {
  total_size: (text: string) => `${amountOf(text, 'total_size', { min: 1n, max: ALL_BITCOIN_SAT })}`,
  min_size: (text: string) => `${amountOf(text, 'min_size', { min: 1n, max: ALL_BITCOIN_SAT })}`,
  max_size: (text: string) => `${amountOf(text, 'max_size', { min: 1n, max: ALL_BITCOIN_SAT })}`,
  min_block_length: (value: number) => wholeOf(value, 'min_block_length', 1, MAX_BLOCKS),
  fee_rate: (value: number) => wholeOf(value, 'fee_rate', 0, MAX_RATE_PPM),
  base_fee: (text: string) => `${amountOf(text, 'base_fee', { max: ALL_BITCOIN_SAT })}`,
  fee_rate_cap: (value: number) => wholeOf(value, 'fee_rate_cap', 0, MAX_RATE_PPM),
  base_fee_cap: (text: string) => `${amountOf(text, 'base_fee_cap', { max: ALL_BITCOIN_SAT })}`,
  onchain_multiplier: (value: number) => {
    if (value !== 0 && !(value >= 1 && value <= 5))
      throw invalid('onchain_multiplier must be from 1 to 5, or 0 where the seller bears the fee')
    return value
  },
  asset_id: (text: string) => (text === '' ? null : textOf(text, 'asset_id', 1, 128)),
  conditions: (list: readonly Condition[]) => {
    if (list.length > 16) throw invalid('conditions must be at most 16')
    return list.map(({ condition, operator, value }) => ({
      condition,
      operator,
      value: textOf(value, 'conditions.value', 1, 64),
    }))
  },
}

/** Where nobody says otherwise the seller bears the fee of the funding: its multiplier is 0. */
export const termsOf = (input: OfferInput): OfferTerms => ({
  totalSizeSat: readers.total_size(input.total_size),
  minSizeSat: readers.min_size(input.min_size),
  maxSizeSat: readers.max_size(input.max_size),
  promises: {
    baseFeeSat: readers.base_fee(input.base_fee),
    feeRatePpm: readers.fee_rate(input.fee_rate),
    baseFeeCapSat: readers.base_fee_cap(input.base_fee_cap),
    feeRateCapPpm: readers.fee_rate_cap(input.fee_rate_cap),
    minBlockLength: readers.min_block_length(input.min_block_length),
    onchainPriority: input.onchain_priority ?? 'MEDIUM',
    onchainMultiplier: read(input.onchain_multiplier, readers.onchain_multiplier) ?? 0,
  },
  conditions: readers.conditions(input.conditions ?? []),
  assetId: read(input.asset_id, readers.asset_id) ?? null,
  autoAccept: input.auto_accept ?? false,
})

type Changes = Omit<DataOf<(typeof offer)['commands']['UpdateOffer']>, 'by'>

/** Only what is said; null and nothing both leave a field as it is. */
export function changesOf(input: UpdateOfferInput): Changes {
  const promises = said({
    baseFeeSat: read(input.base_fee, readers.base_fee),
    feeRatePpm: read(input.fee_rate, readers.fee_rate),
    baseFeeCapSat: read(input.base_fee_cap, readers.base_fee_cap),
    feeRateCapPpm: read(input.fee_rate_cap, readers.fee_rate_cap),
    minBlockLength: read(input.min_block_length, readers.min_block_length),
    onchainPriority: input.onchain_priority ?? undefined,
    onchainMultiplier: read(input.onchain_multiplier, readers.onchain_multiplier),
  })
  return said({
    totalSizeSat: read(input.total_size, readers.total_size),
    minSizeSat: read(input.min_size, readers.min_size),
    maxSizeSat: read(input.max_size, readers.max_size),
    promises: Object.keys(promises).length > 0 ? promises : undefined,
    conditions: read(input.conditions, readers.conditions),
    assetId: read(input.asset_id, readers.asset_id),
    autoAccept: input.auto_accept ?? undefined,
  })
}

const read = <T, U>(value: T | null | undefined, reader: (value: T) => U): U | undefined =>
  value === null || value === undefined ? undefined : reader(value)

type Said<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
const said = <T extends object>(fields: T): Said<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Said<T> // the same fields without those that say nothing
