import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import type { Page } from '../input.ts'
import { isToPay } from '../views/order-view.ts'
import { tablesOf } from '../views/tables.ts'
import { type Listed, type StoredOrder, stored, totalOf } from './orders.ts'

type Db = Pick<Views, 'db'>

/** How an account takes part in an order. */
export type Role =
  | { readonly is: 'buyer'; readonly actionNeeded: boolean }
  | { readonly is: 'seller'; readonly attempt: number; readonly current: boolean; readonly actionNeeded: boolean }
export type OrderInRole = StoredOrder & { readonly role: Role }

export type OrderFilter = { readonly peerPubkey: string | undefined; readonly actionNeeded: boolean | undefined }

/** Whether a seller must do something. An invoice that expired before it could be paid is settlement's word, and does not wait for the order's stream. */
const sellerActs = sql<number>`case when s.action_needed = 1 or (h.invoice_due = 1 and s.current = 1) then 1 else 0 end`

/**
 * Orders in which a seller may have to do something. The numbers stand in the text, so that the indexes of just these rows
 * are used, and it costs the same however much was sold.
 */
const dueOf = (accountId: string) =>
  sql<string>`(select order_id from gateway_sales_v2 where account_id = ${accountId} and action_needed = 1
    union all select order_id from gateway_holds_v2 where invoice_due = 1)`
/** In a form that no index answers: what is due is few, and the account's sales may be many. */
const isOf = (accountId: string) => sql<number>`case when s.account_id = ${accountId} then 1 else 0 end`

/** An account's orders as a seller, newest first. */
export async function salesOfAccount(
  views: Db,
  accountId: string,
  page: Page,
  { peerPubkey, actionNeeded }: OrderFilter,
): Promise<Listed<OrderInRole>> {
  const mine = tablesOf(views)
    .selectFrom('gateway_sales_v2 as s')
    .innerJoin('gateway_orders_v2 as o', 'o.id', 's.order_id')
    .leftJoin('gateway_holds_v2 as h', 'h.order_id', 's.order_id')
    .leftJoin('gateway_channels_v2 as c', 'c.order_id', 's.order_id')
    .$if(actionNeeded !== true, (query) => query.where('s.account_id', '=', accountId))
    .$if(actionNeeded === true, (query) => query.where('s.order_id', 'in', dueOf(accountId)).where(isOf(accountId), '=', 1))
    .$if(peerPubkey !== undefined, (query) => query.where('s.buyer_pubkey', '=', peerPubkey ?? ''))
    .$if(actionNeeded !== undefined, (query) => query.where(sellerActs, '=', actionNeeded ? 1 : 0))
  const list = await mine
    .select(['o.view', 'h.view as hold', 'c.view as channel', 's.attempt', 's.current', sellerActs.as('action')])
    .orderBy('s.created_at', 'desc')
    .orderBy('s.order_id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await totalOf(page, list.length, () =>
    mine.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list: list.map((row) => ({ ...stored(row), role: seller(row) })) }
}

/** An account's orders as the buyer, newest first. `actionNeeded`: its invoice waits to be paid. */
export async function purchasesOfAccount(
  views: Db,
  accountId: string,
  page: Page,
  { peerPubkey, actionNeeded }: OrderFilter,
): Promise<Listed<OrderInRole>> {
  const mine = tablesOf(views)
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
  const list = await mine
    .select(['o.view', 'h.view as hold', 'c.view as channel'])
    .orderBy('o.created_at', 'desc')
    .orderBy('o.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await totalOf(page, list.length, () =>
    mine.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list: list.map((row) => asBuyer(stored(row))) }
}

/** The order if the account takes part in it. Somebody else's is as unknown as one that does not exist. */
export async function orderForAccount(views: Db, accountId: string, orderId: string): Promise<OrderInRole | undefined> {
  const row = await tablesOf(views)
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
      sellerActs.as('action'),
    ])
    .where('o.id', '=', orderId)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.buyer_account_id === accountId) return asBuyer(stored(row))
  return row.attempt === null ? undefined : { ...stored(row), role: seller(row) }
}

export const asBuyer = (found: StoredOrder): OrderInRole => ({
  ...found,
  role: { is: 'buyer', actionNeeded: isToPay(found.order) },
})

const seller = (row: { attempt: number | null; current: number | null; action: number | null }): Role => ({
  is: 'seller',
  attempt: row.attempt ?? 0,
  current: row.current === 1,
  actionNeeded: row.action === 1,
})
