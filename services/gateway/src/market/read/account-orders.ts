import type { Views } from '@penstock/ports/views.ts'
import { isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'
import { noPayoutDue, type PayoutDue } from '../views/payout-due.ts'
import { withMarketTables } from '../views/tables.ts'
import { type StoredOrder, toStoredOrder } from './orders.ts'

type Db = Pick<Views, 'db'>

const PAGE_SIZE = 200

/** Yields every order that an account bought, or was selected to sell. */
export async function* iterateAccountOrders(views: Db, accountId: string): AsyncGenerator<StoredOrder> {
  const soldOrderIds = withMarketTables(views)
    .selectFrom('gateway_sales_v2')
    .select('order_id')
    .where('account_id', '=', accountId)
  for (let after = ''; ;) {
    const page = await withMarketTables(views)
      .selectFrom('gateway_orders_v2 as o')
      .leftJoin('gateway_holds_v2 as h', 'h.order_id', 'o.id')
      .leftJoin('gateway_channels_v2 as c', 'c.order_id', 'o.id')
      .select(['o.id', 'o.view', 'h.view as hold', 'c.view as channel'])
      .where('o.id', '>', after)
      .where((eb) => eb.or([eb('o.buyer_account_id', '=', accountId), eb('o.id', 'in', soldOrderIds)]))
      .orderBy('o.id')
      .limit(PAGE_SIZE)
      .execute()
    yield* page.map(toStoredOrder)
    const last = page.at(-1)
    if (!last || page.length < PAGE_SIZE) return
    after = last.id
  }
}

/** Finds a reason not to delete an account: an open order that it buys or sells, an amount that is due to it, or one that may become due. */
export async function findDeletionObstacle(views: Db, accountId: string): Promise<'order' | 'payout' | 'loss' | undefined> {
  for await (const { order, hold } of iterateAccountOrders(views, accountId)) {
    if (isOpenStatus(order.status)) return 'order'
    // Rows of an earlier release may lack `owed`.
    const owed: PayoutDue = { ...noPayoutDue, ...hold?.owed }
    const isLossOpen = hold?.loss?.status === 'ASKED'
    if (!isLossOpen && !owed.isPaying && BigInt(owed.amountMsat) <= 0n) continue
    const { candidate, buyer } = order.terms
    const sellers = [candidate, ...order.attempts.map((attempt) => attempt.candidate)]
    const seller = sellers.find(({ sellerPubkey }) => sellerPubkey === owed.sellerPubkey)
    const creditor = owed.creditor === 'buyer' ? buyer.accountId : seller?.sellerAccountId
    if (creditor === accountId) return isLossOpen ? 'loss' : 'payout'
  }
  return undefined
}
