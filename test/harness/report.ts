import type { Bought, Door } from './buyer.ts'

/** What `penstock order show` tells, as far as tests look at it. */
export type Report = {
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

export const report = (product: Door, { id }: Pick<Bought, 'id'>): Promise<Report> => product.operator('GET', `/orders/${id}`)

export const paidOut = async (product: Door, bought: Pick<Bought, 'id'>): Promise<boolean> =>
  (await report(product, bought)).payout.state === 'SUCCEEDED'
