/** An asset that a wallet can hold. `precision`: decimal places between its base unit and its whole unit. */
export type Asset = {
  readonly id: string
  readonly symbol: string
  readonly precision: number
  readonly type: 'BASE_ASSET' | 'TAPROOT_ASSET'
  /** Millisatoshis of a base unit; null for an asset whose rate varies. */
  readonly msatPerUnit: bigint | null
}

export const btcAsset: Asset = {
  id: 'b7c0b1de-0000-4000-8000-000000000001',
  symbol: 'BTC',
  precision: 8,
  type: 'BASE_ASSET',
  msatPerUnit: 1000n,
}

export const supportedAssets: readonly Asset[] = [btcAsset]

export const findAsset = (id: string): Asset | undefined => supportedAssets.find((asset) => asset.id === id)
