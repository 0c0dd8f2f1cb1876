import type { Asset } from '@penstock/contracts/payments/assets.ts'
import { findAsset } from '@penstock/contracts/payments/assets.ts'
import type { RecordedRate } from '@penstock/contracts/payments/shapes.ts'
import { assert } from '@penstock/kernel/result.ts'

const descriptions: Readonly<Record<string, { readonly description: string; readonly website_url: string }>> = {
  BTC: { description: 'Bitcoin, counted in satoshis', website_url: 'https://bitcoin.org' },
}

/** Returns an asset as the API shows it. */
export function toBitcoinAssetRecord({ id, symbol, precision, type }: Asset) {
  return {
    id,
    symbol,
    precision,
    type,
    description: descriptions[symbol]?.description ?? null,
    website_url: descriptions[symbol]?.website_url ?? null,
    taproot_asset_details: null,
    prices: { id: `${id}/prices`, usd: null },
  }
}

/** Finds the asset of a wallet or transaction, whose facts name supported assets only. */
export function requireAsset(id: string): Asset {
  const asset = findAsset(id)
  assert(asset, `a wallet has the unknown asset ${id}`)
  return asset
}

type AmountParts = {
  /** Base units of the asset. */
  readonly units: bigint
  /** Null if the value in bitcoin is unknown. */
  readonly amountMsat: bigint | null
  readonly rate: RecordedRate
}

/** Returns an amount as the API shows it. @param id unique for the amount's place in the graph */
export const toAmountRecord = (id: string, asset: Asset, { units, amountMsat, rate }: AmountParts) => ({
  id,
  full_amount: `${units}`,
  display_amount: formatWholeUnits(units, asset.precision),
  value: { id: `${id}/value`, usd_value: rate && amountMsat !== null ? formatUsd(amountMsat, BigInt(rate.centsPerBtc)) : null },
  asset: toBitcoinAssetRecord(asset),
})

/** Formats base units as whole units with all decimal places: 1 sat is 0.00000001 BTC. */
export function formatWholeUnits(units: bigint, precision: number): string {
  if (precision === 0) return `${units}`
  const digits = `${units}`.padStart(precision + 1, '0')
  return `${digits.slice(0, -precision)}.${digits.slice(-precision)}`
}

const MSAT_PER_BTC = 100_000_000_000n

/** Formats the value of an amount in dollars, rounded to the nearest cent. */
export const formatUsd = (amountMsat: bigint, centsPerBtc: bigint): string =>
  formatWholeUnits((amountMsat * centsPerBtc + MSAT_PER_BTC / 2n) / MSAT_PER_BTC, 2)
