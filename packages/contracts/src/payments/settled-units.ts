import { findAsset } from './assets.ts'
import { msatToSatCeil } from '@penstock/kernel/money.ts'
import type { TransactionView } from './transaction-view.ts'

/** The settled amount and the fee of a completed transaction, in base units of the wallet's asset. */
export type SettledUnits = { readonly amount: bigint; readonly fee: bigint }

/**
 * A received amount is rounded down, and a sent amount and a fee are rounded up, for each transaction alone. So the balance of
 * a wallet is the sum of the figures that its transactions show.
 */
export function toSettledUnits({
  direction,
  assetId,
  settlement,
}: Pick<TransactionView, 'direction' | 'assetId'> & {
  readonly settlement: NonNullable<TransactionView['settlement']>
}): SettledUnits {
  const msatPerUnit = findAsset(assetId)?.msatPerUnit ?? null
  const fee = settlement.feeMsat === null ? 0n : msatToSatCeil(BigInt(settlement.feeMsat))
  if (msatPerUnit === null) return { amount: BigInt(settlement.amount), fee }
  const amountMsat = BigInt(settlement.amountMsat)
  const roundedMsat = direction === 'RECEIVE' ? amountMsat : amountMsat + msatPerUnit - 1n
  return { amount: roundedMsat / msatPerUnit, fee }
}
