import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { isAwaitingPayment } from '../views/order-view.ts'
import { withMarketTables } from '../views/tables.ts'
import { type StoredOrder, toStoredOrder } from './orders.ts'
import { type Page, type ListPage, countTotal } from '../../list-page.ts'

type Db = Pick<Views, 'db'>

/** The role of an account in an order. */
export type AccountRole =
  | { readonly kind: 'buyer'; readonly actionNeeded: boolean }
  | { readonly kind: 'seller'; readonly attempt: number; readonly isCurrent: boolean; readonly actionNeeded: boolean }
export type OrderInRole = StoredOrder & { readonly role: AccountRole }

export type OrderFilter = { readonly peerPubkey: string | undefined; readonly actionNeeded: boolean | undefined }
export type SaleFilter = OrderFilter & {
  /** Only orders for which this offer has, or had, reserved capacity. */
  readonly offerId?: string
}

/** Whether a seller must act. Only settlement knows that an invoice expired before its payment, so this reads both tables. */
const isSellerActionDue = sql<number>`case when s.action_needed = 1 or (h.invoice_due = 1 and s.current = 1) then 1 else 0 end`

/**
 * Selects the orders in which a seller may have to act. The SQL contains the value 1 as a literal, so that the database can use
 * the partial indexes of these rows. So the cost does not grow with the number of sales.
 */
const selectDueOrderIds = (accountId: string) =>
  sql<string>`(select order_id from gateway_sales_v2 where account_id = ${accountId} and action_needed = 1
    union all select order_id from gateway_holds_v2 where invoice_due = 1)`
/** The `case` prevents a scan of the index by account, because few orders are due but an account may have many sales. */
const isSaleOfAccount = (accountId: string) => sql<number>`case when s.account_id = ${accountId} then 1 else 0 end`

const selectOrdersOfOffer = (views: Db, offerId: string) =>
  withMarketTables(views).selectFrom('gateway_offer_orders_v2').select('order_id').where('offer_id', '=', offerId)

/** Lists an account's orders as a seller, newest first. */
export async function listSales(
  views: Db,
  accountId: string,
  page: Page,
  { peerPubkey, actionNeeded, offerId }: SaleFilter,
): Promise<ListPage<OrderInRole>> {
  const accountOrders = withMarketTables(views)
    .selectFrom('gateway_sales_v2 as s')
    .innerJoin('gateway_orders_v2 as o', 'o.id', 's.order_id')
    .leftJoin('gateway_holds_v2 as h', 'h.order_id', 's.order_id')
    .leftJoin('gateway_channels_v2 as c', 'c.order_id', 's.order_id')
    .$if(actionNeeded !== true, (query) => query.where('s.account_id', '=', accountId))
    .$if(actionNeeded === true, (query) =>
      query.where('s.order_id', 'in', selectDueOrderIds(accountId)).where(isSaleOfAccount(accountId), '=', 1),
    )
    .$if(peerPubkey !== undefined, (query) => query.where('s.buyer_pubkey', '=', peerPubkey ?? ''))
    .$if(offerId !== undefined, (query) => query.where('s.order_id', 'in', selectOrdersOfOffer(views, offerId ?? '')))
    .$if(actionNeeded !== undefined, (query) => query.where(isSellerActionDue, '=', actionNeeded ? 1 : 0))
  const list = await accountOrders
    .select(['o.view', 'h.view as hold', 'c.view as channel', 's.attempt', 's.current', isSellerActionDue.as('action')])
    .orderBy('s.created_at', 'desc')
    .orderBy('s.order_id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await countTotal(page, list.length, () =>
    accountOrders.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list: list.map((row) => ({ ...toStoredOrder(row), role: toSellerRole(row) })) }
}

/** Lists an account's orders as the buyer, newest first. `actionNeeded` selects orders whose invoice awaits payment. */
export async function listPurchases(
  views: Db,
  accountId: string,
  page: Page,
  { peerPubkey, actionNeeded }: OrderFilter,
): Promise<ListPage<OrderInRole>> {
  const accountOrders = withMarketTables(views)
    .selectFrom('gateway_orders_v2 as o')
    .leftJoin('gateway_holds_v2 as h', 'h.order_id', 'o.id')
    .leftJoin('gateway_channels_v2 as c', 'c.order_id', 'o.id')
    .where('o.buyer_account_id', '=', accountId)
    .$if(peerPubkey !== undefined, (query) =>
      query
        .innerJoin('gateway_sales_v2 as s', 's.order_id', 'o.id')
        .where('s.seller_pubkey', '=', peerPubkey ?? '')
        .where('s.current', '=', 1),
    )
    .$if(actionNeeded !== undefined, (query) => query.where('o.to_pay', '=', actionNeeded ? 1 : 0))
  const list = await accountOrders
    .select(['o.view', 'h.view as hold', 'c.view as channel'])
    .orderBy('o.created_at', 'desc')
    .orderBy('o.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await countTotal(page, list.length, () =>
    accountOrders.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list: list.map((row) => toBuyerOrder(toStoredOrder(row))) }
}

/** Finds an order if the account is its buyer or a seller. Another account's order gives undefined, like an unknown order. */
export async function findOrderForAccount(views: Db, accountId: string, orderId: string): Promise<OrderInRole | undefined> {
  const row = await withMarketTables(views)
    .selectFrom('gateway_orders_v2 as o')
    .leftJoin('gateway_holds_v2 as h', 'h.order_id', 'o.id')
    .leftJoin('gateway_channels_v2 as c', 'c.order_id', 'o.id')
    .leftJoin('gateway_sales_v2 as s', (join) => join.onRef('s.order_id', '=', 'o.id').on('s.account_id', '=', accountId))
    .select([
      'o.view',
      'o.buyer_account_id',
      'h.view as hold',
      'c.view as channel',
      's.attempt',
      's.current',
      isSellerActionDue.as('action'),
    ])
    .where('o.id', '=', orderId)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.buyer_account_id === accountId) return toBuyerOrder(toStoredOrder(row))
  return row.attempt === null ? undefined : { ...toStoredOrder(row), role: toSellerRole(row) }
}

export const toBuyerOrder = (found: StoredOrder): OrderInRole => ({
  ...found,
  role: { kind: 'buyer', actionNeeded: isAwaitingPayment(found.order) },
})

const toSellerRole = (row: { attempt: number | null; current: number | null; action: number | null }): AccountRole => ({
  kind: 'seller',
  attempt: row.attempt ?? 0,
  isCurrent: row.current === 1,
  actionNeeded: row.action === 1,
})
