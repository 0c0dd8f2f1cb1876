import type { PurchasedOrder, MarketAccess } from './market-client.ts'

/** The operator's report of an order, with the fields that tests use. */
export type OrderReport = {
  readonly id: string
  readonly status: string
  readonly payment_status: string | null
  readonly size_sat: string
  readonly outpoint: string | null
  readonly seller_pubkey: string
  readonly statuses: readonly { readonly status: string; readonly at: string }[]
  readonly attempts: readonly { readonly seller_pubkey: string; readonly status: string }[]
  readonly hold: { readonly status: string | null; readonly settled_at: string | null; readonly cancelled_at: string | null }
  readonly payout: { readonly state: string | null; readonly payee: string | null; readonly attempts: number }
  readonly ledger: readonly {
    readonly posting: string
    readonly entries: readonly { readonly account: string; readonly amountMsat: string }[]
  }[]
}

export const getOrderReport = (product: MarketAccess, { id }: Pick<PurchasedOrder, 'id'>): Promise<OrderReport> =>
  product.operator('GET', `/orders/${id}`)

export const isPaidOut = async (product: MarketAccess, purchase: Pick<PurchasedOrder, 'id'>): Promise<boolean> =>
  (await getOrderReport(product, purchase)).payout.state === 'SUCCEEDED'
