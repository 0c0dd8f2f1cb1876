import type { Views } from '@penstock/ports/views.ts'
import { isOpen } from '../views/order-status.ts'
import { nothingOwed, type Owed } from '../views/owed.ts'
import { tablesOf } from '../views/tables.ts'
import { type StoredOrder, stored } from './orders.ts'

type Db = Pick<Views, 'db'>

const PAGE = 200

/** Every order that an account bought, or was to sell. */
export async function* ordersTouching(views: Db, accountId: string): AsyncGenerator<StoredOrder> {
  const sold = tablesOf(views).selectFrom('gateway_sales_v2').select('order_id').where('account_id', '=', accountId)
  for (let after = ''; ;) {
    const page = await tablesOf(views)
      .selectFrom('gateway_orders_v2 as o')
      .leftJoin('gateway_holds_v2 as h', 'h.order_id', 'o.id')
      .leftJoin('gateway_channels_v2 as c', 'c.order_id', 'o.id')
      .select(['o.id', 'o.view', 'h.view as hold', 'c.view as channel'])
      .where('o.id', '>', after)
      .where((is) => is.or([is('o.buyer_account_id', '=', accountId), is('o.id', 'in', sold)]))
      .orderBy('o.id')
      .limit(PAGE)
      .execute()
    yield* page.map(stored)
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.id
  }
}

/** What of an account is not at its end: an order of its own or of its offers, or money that is owed to it. */
export async function openBusinessOf(views: Db, accountId: string): Promise<'order' | 'payout' | undefined> {
  for await (const { order, hold } of ordersTouching(views, accountId)) {
    if (isOpen(order.status)) return 'order'
    // Rows from before a release may lack it.
    const owed: Owed = { ...nothingOwed, ...hold?.owed }
    if (!owed.isPaying && BigInt(owed.amountMsat) <= 0n) continue
    const { candidate, buyer } = order.terms
    const sellers = [candidate, ...order.attempts.map((attempt) => attempt.candidate)]
    const seller = sellers.find(({ sellerPubkey }) => sellerPubkey === owed.sellerPubkey)
    const creditor = owed.creditor === 'buyer' ? buyer.accountId : seller?.sellerAccountId
    if (creditor === accountId) return 'payout'
  }
  return undefined
}
