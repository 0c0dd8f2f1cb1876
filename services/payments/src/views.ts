import type { EnvironmentFact } from '@penstock/contracts/payments/environment.ts'
import type { RecordedRate } from '@penstock/contracts/payments/shapes.ts'
import type { WalletFact } from '@penstock/contracts/payments/wallet.ts'
import type { PriceFact } from '@penstock/contracts/quote.ts'
import type { Event } from '@penstock/runtime/service.ts'

/** A view in memory of the deleted environments and wallets, and of the latest price of the service `quote`. */
export type PaymentsView = {
  readonly apply: (event: Event) => void
  /** A wallet that the view does not know yet is not deleted: the gateway has seen it. */
  readonly isDeleted: (wallet: { readonly walletId: string; readonly environmentId: string }) => boolean
  /** @returns the rate of the latest price; null if that price was withdrawn or is no longer valid */
  readonly rateAt: (now: number) => RecordedRate
}

export function createPaymentsView(): PaymentsView {
  const deleted = new Set<string>()
  let latest: { readonly rate: NonNullable<RecordedRate>; readonly validUntil: number } | null = null
  return {
    apply({ aggregateId, fact }) {
      const { type, data } = fact as EnvironmentFact | WalletFact | PriceFact // The view follows only these contracts.
      if (type === 'EnvironmentDeleted' || type === 'WalletDeleted') deleted.add(aggregateId)
      else if (type === 'PriceSet')
        latest = { rate: { centsPerBtc: data.rate.centsPerBtc, at: data.rate.at }, validUntil: data.validUntil }
      else if (type === 'PriceWithdrawn') latest = null
    },
    isDeleted: ({ walletId, environmentId }) => deleted.has(walletId) || deleted.has(environmentId),
    rateAt: (now) => (latest !== null && now < latest.validUntil ? latest.rate : null),
  }
}
